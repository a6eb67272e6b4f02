// SPDX-License-Identifier: Apache-2.0
// Bounds-checked little-endian and LEB128 readers and writers. A read past the end sets a flag and yields zeros, so a
// decoder checks once at the end of a unit, and hostile bytes can neither crash it nor make it loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace stackmap {

inline uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// A T from the first bytes, which are at no particular alignment and as many as it has, or more.
template <typename T>
T load_unaligned(std::span<const std::byte> bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  size_t remaining() const { return bytes_.size() - at_; }
  bool at_end() const { return at_ == bytes_.size(); }

  // An unsigned or signed integer of 1 to 8 bytes, least significant first.
  template <typename T>
  T fixed() {
    static_assert(std::is_integral_v<T>);
    std::make_unsigned_t<T> value = 0;
    if (remaining() < sizeof(T)) {
      return fail(), T{0};
    }
    for (size_t i = 0; i < sizeof(T); ++i) {
      value = static_cast<std::make_unsigned_t<T>>(
          value | static_cast<std::make_unsigned_t<T>>(std::to_integer<uint64_t>(bytes_[at_ + i]) << (8 * i)));
    }
    at_ += sizeof(T);
    return static_cast<T>(value);
  }

  // Unsigned LEB128 of at most 64 bits; a longer one is an error.
  uint64_t varint() {
    // One byte is by far the commonest length.
    if (at_ < bytes_.size()) {
      const auto first = std::to_integer<uint64_t>(bytes_[at_]);
      if (first < 0x80) {
        ++at_;
        return first;
      }
    }
    return long_varint();
  }
  int64_t svarint() { return unzigzag(varint()); }

  // The next `n` bytes; empty and failed if there are fewer.
  std::span<const std::byte> take(uint64_t n);
  std::string_view text(uint64_t n);
  // A varint length and that many bytes.
  std::string_view counted_text() { return text(varint()); }

  void fail() {
    ok_ = false;
    at_ = bytes_.size();
  }

 private:
  uint64_t long_varint();

  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

// Appends to a string: the house's growing byte buffer.
class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  template <typename T>
  void fixed(T value) {
    static_assert(std::is_integral_v<T>);
    char bytes[sizeof(T)];
    for (size_t i = 0; i < sizeof(T); ++i) {
      bytes[i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
    }
    out_.append(bytes, sizeof(T));
  }
  void varint(uint64_t value) {
    char bytes[10];
    size_t n = 0;
    while (value >= 0x80) {
      bytes[n++] = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    bytes[n++] = static_cast<char>(value);
    out_.append(bytes, n);
  }
  void svarint(int64_t value) { varint(zigzag(value)); }
  void counted_text(std::string_view text) {
    varint(text.size());
    out_.append(text);
  }

 private:
  std::string& out_;
};

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace stackmap
