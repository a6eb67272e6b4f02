// SPDX-License-Identifier: Apache-2.0
// Appends blocks to a file: compressed, framed, checksummed, each whole or not at all. Not thread-safe, but for
// bytes_written(); a block may be compressed on another thread, by a packer of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/result.h"
#include "capture/block.h"

struct ZSTD_CCtx_s;

namespace stackmap {

// A payload, compressed, with room for its header before it.
struct PackedBlock {
  std::string buffer;  // the first `size` bytes count
  size_t size = 0;
  uint32_t raw_bytes = 0;
  uint32_t payload_crc = 0;
};

class BlockPacker {
 public:
  explicit BlockPacker(int zstd_level);
  ~BlockPacker();
  BlockPacker(const BlockPacker&) = delete;
  BlockPacker& operator=(const BlockPacker&) = delete;

  // kFailed if `payload` exceeds kMaxRawBlock.
  Result<void> pack(std::string_view payload, PackedBlock& block);

 private:
  int level_;
  ZSTD_CCtx_s* zstd_;
};

class BlockWriter {
 public:
  // `capture_id` marks the blocks as this capture's.
  BlockWriter(std::unique_ptr<WritableFile> file, uint64_t capture_id, int zstd_level);
  // Writes one block. Of `header` the kind, generation, count and times are the caller's; the rest is filled in here.
  // After a failed write the file is cut back to the blocks before it, so far as that is possible, and the block counts
  // as not written. kFailed if `payload` exceeds kMaxRawBlock.
  Result<void> write(BlockHeader header, std::string_view payload);
  // The same with a payload that is packed already.
  Result<void> write(BlockHeader header, PackedBlock& block);
  Result<void> sync() { return file_->sync(); }

  uint64_t bytes_written() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  std::unique_ptr<WritableFile> file_;
  uint64_t capture_id_;
  BlockPacker packer_;
  PackedBlock packed_;
  uint64_t sequence_ = 0;
  std::atomic<uint64_t> bytes_{0};
};

}  // namespace stackmap
