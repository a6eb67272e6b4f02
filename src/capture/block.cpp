// SPDX-License-Identifier: Apache-2.0
#include "capture/block.h"

#include <cassert>
#include <cstring>
#include <string>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace stackmap {

std::array<std::byte, kBlockHeaderBytes> encode_block_header(const BlockHeader& header) {
  std::string text(reinterpret_cast<const char*>(kBlockStart.data()), kBlockStart.size());
  ByteWriter writer(text);
  writer.fixed(header.kind);
  writer.fixed(header.version);
  writer.fixed(header.sequence);
  writer.fixed(header.generation);
  writer.fixed(header.count);
  writer.fixed(header.first_ns);
  writer.fixed(header.last_ns);
  writer.fixed(header.raw_bytes);
  writer.fixed(header.stored_bytes);
  writer.fixed(header.payload_crc);
  writer.fixed(uint32_t{0});
  writer.fixed(header.capture_id);
  writer.fixed(uint32_t{0});
  writer.fixed(crc32c(bytes_of(text).subspan(8)));
  assert(text.size() == kBlockHeaderBytes);
  std::array<std::byte, kBlockHeaderBytes> bytes;
  std::memcpy(bytes.data(), text.data(), bytes.size());
  return bytes;
}

HeaderFault decode_block_header(std::span<const std::byte> bytes, BlockHeader& header) {
  assert(bytes.size() >= kBlockHeaderBytes);
  if (std::memcmp(bytes.data(), kBlockStart.data(), kBlockStart.size()) != 0) {
    return HeaderFault::kNoMagic;
  }
  ByteReader reader(bytes.first(kBlockHeaderBytes).subspan(kBlockStart.size()));
  header.kind = reader.fixed<uint16_t>();
  header.version = reader.fixed<uint16_t>();
  header.sequence = reader.fixed<uint64_t>();
  header.generation = reader.fixed<uint32_t>();
  header.count = reader.fixed<uint32_t>();
  header.first_ns = reader.fixed<uint64_t>();
  header.last_ns = reader.fixed<uint64_t>();
  header.raw_bytes = reader.fixed<uint32_t>();
  header.stored_bytes = reader.fixed<uint32_t>();
  header.payload_crc = reader.fixed<uint32_t>();
  (void)reader.fixed<uint32_t>();
  header.capture_id = reader.fixed<uint64_t>();
  (void)reader.fixed<uint32_t>();
  if (reader.fixed<uint32_t>() != crc32c(bytes.subspan(8, kBlockHeaderBytes - 12))) {
    return HeaderFault::kBadChecksum;
  }
  if (header.version != kFormatVersion) {
    return HeaderFault::kBadVersion;
  }
  // A zstd frame is never much larger than what it holds.
  if (header.raw_bytes > kMaxRawBlock || header.stored_bytes > kMaxRawBlock + kMaxRawBlock / 128) {
    return HeaderFault::kTooLarge;
  }
  return HeaderFault::kNone;
}

}  // namespace stackmap
