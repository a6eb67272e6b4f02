// SPDX-License-Identifier: Apache-2.0
// Appends blocks to a file: compressed, framed, checksummed, each whole or not at all. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/result.h"
#include "capture/block.h"

struct ZSTD_CCtx_s;

namespace stackmap {

class BlockWriter {
 public:
  // `capture_id` marks the blocks as this capture's.
  BlockWriter(std::unique_ptr<WritableFile> file, uint64_t capture_id, int zstd_level);
  ~BlockWriter();
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;

  // Writes one block. Of `header` the kind, generation, count and times are the caller's; the rest is filled in here.
  // After a failed write the file is cut back to the blocks before it, so far as that is possible, and the block counts
  // as not written. kFailed if `payload` exceeds kMaxRawBlock.
  Result<void> write(BlockHeader header, std::string_view payload);
  Result<void> sync() { return file_->sync(); }

  uint64_t bytes_written() const { return bytes_; }
  uint64_t blocks_written() const { return sequence_; }
  const std::string& name() const { return file_->name(); }

 private:
  std::unique_ptr<WritableFile> file_;
  uint64_t capture_id_;
  int level_;
  ZSTD_CCtx_s* zstd_;
  std::string buffer_;
  uint64_t sequence_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace stackmap
