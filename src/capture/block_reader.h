// SPDX-License-Identifier: Apache-2.0
// Finds the good blocks of a file, whatever happened to it, and reads their payloads. Bytes are not trusted: for a
// payload it allocates at most kMaxRawBlock, and what is stored of it, which is never more than the file; for the
// search 1 MiB; for the list of blocks kIndexFactor bytes for each byte of the file (a header has 80).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "capture/block.h"

struct ZSTD_DCtx_s;

namespace stackmap {

struct FoundBlock {
  uint64_t offset = 0;  // of the header in the file
  BlockHeader header;
};

// What the search met between good headers.
struct ScanFaults {
  uint64_t bad_blocks = 0;      // places where a header should have been and was not, or was not right
  uint64_t bytes_skipped = 0;   // until the next good one
  uint64_t torn_bytes = 0;      // an unfinished block at the end
  uint64_t missing_blocks = 0;  // gaps in the sequence
  std::string first;            // the first of these, in words with its offset
  uint64_t first_offset = 0;    // in the file
};

class BlockReader {
 public:
  static constexpr uint64_t kIndexFactor = 6;

  explicit BlockReader(const ReadableFile& file);
  ~BlockReader();
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  // Every good header, in the order of the file. kCorrupt if there is none, or if the file is of a later version.
  Result<std::vector<FoundBlock>> scan(ScanFaults& faults);

  // The payload of a block, decompressed; valid until the next call. kCorrupt if a checksum or a size is wrong;
  // the place is the caller's to say.
  Result<std::span<const std::byte>> payload(const FoundBlock& block);

 private:
  struct Search;  // what scan() has found so far
  Result<HeaderFault> read_header(const Search& search, std::span<const std::byte> bytes, BlockHeader& header) const;
  void take_block(Search& search, const BlockHeader& header) const;
  bool skip_fault(Search& search, std::span<const std::byte> bytes, HeaderFault fault) const;
  uint64_t find_next(uint64_t from) const;
  bool starts_block(uint64_t offset) const;

  const ReadableFile& file_;
  ZSTD_DCtx_s* zstd_;
  std::string stored_;
  std::string raw_;
};

}  // namespace stackmap
