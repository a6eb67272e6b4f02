// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

namespace stackmap {

uint64_t ByteReader::long_varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at_ == bytes_.size()) {
      return fail(), 0;
    }
    const auto byte = std::to_integer<uint64_t>(bytes_[at_++]);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      // The tenth byte holds one bit.
      return shift == 63 && byte > 1 ? (fail(), 0) : value;
    }
  }
  return fail(), 0;
}

std::span<const std::byte> ByteReader::take(uint64_t n) {
  if (n > remaining()) {
    return fail(), std::span<const std::byte>();
  }
  const auto taken = bytes_.subspan(at_, static_cast<size_t>(n));
  at_ += static_cast<size_t>(n);
  return taken;
}

std::string_view ByteReader::text(uint64_t n) {
  const auto taken = take(n);
  return {reinterpret_cast<const char*>(taken.data()), taken.size()};
}

}  // namespace stackmap
