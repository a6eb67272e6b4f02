// SPDX-License-Identifier: Apache-2.0
// The frame around every block of a capture: kinds, and the header (FORMAT.md section 1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace stackmap {

// On disk: append only.
enum class BlockKind : uint16_t {
  kHeader = 1,
  kEventTypes = 2,
  kStrings = 3,
  kTasks = 4,
  kStacks = 5,
  kSymbols = 6,
  kEvents = 7,
  kLedger = 8,
  kAnchors = 9,
  kRefs = 10,
  kEnd = 11,
};

inline constexpr uint16_t kFormatVersion = 1;
inline constexpr size_t kBlockHeaderBytes = 80;
inline constexpr uint32_t kMaxRawBlock = uint32_t{64} << 20;
// The first bytes of every block: what a search for the next one looks for.
inline constexpr std::array<unsigned char, 12> kBlockStart = {0x50, 0x2a, 0x4d, 0x18, 72, 0, 0, 0, 'S', 'M', 'C', 'B'};

struct BlockHeader {
  uint16_t kind = 0;
  uint16_t version = kFormatVersion;
  uint64_t sequence = 0;
  uint32_t generation = 0;
  uint32_t count = 0;
  uint64_t first_ns = 0;
  uint64_t last_ns = 0;
  uint32_t raw_bytes = 0;
  uint32_t stored_bytes = 0;
  uint32_t payload_crc = 0;
  uint64_t capture_id = 0;
};

std::array<std::byte, kBlockHeaderBytes> encode_block_header(const BlockHeader& header);

enum class HeaderFault : uint8_t { kNone, kNoMagic, kBadChecksum, kBadVersion, kTooLarge };
// `bytes` must hold kBlockHeaderBytes. `header` is filled when the checksum is right.
HeaderFault decode_block_header(std::span<const std::byte> bytes, BlockHeader& header);

}  // namespace stackmap
