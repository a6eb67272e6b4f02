// SPDX-License-Identifier: Apache-2.0
#include "capture/block_writer.h"

#include <fmt/format.h>
#include <zstd.h>

#include <cstring>
#include <new>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace stackmap {

BlockPacker::BlockPacker(int zstd_level) : level_(zstd_level), zstd_(ZSTD_createCCtx()) {
  if (zstd_ == nullptr) {
    throw std::bad_alloc();
  }
}

BlockPacker::~BlockPacker() {
  (void)ZSTD_freeCCtx(zstd_);
}

Result<void> BlockPacker::pack(std::string_view payload, PackedBlock& block) {
  if (payload.size() > kMaxRawBlock) {
    return make_error(ErrorKind::kFailed, fmt::format("a block of {} bytes is too large", payload.size()));
  }
  std::string& buffer = block.buffer;
  // It only grows: a string fills with zeros what it is made larger by.
  const size_t room = kBlockHeaderBytes + ZSTD_compressBound(payload.size());
  if (buffer.size() < room) {
    buffer.resize(room);
  }
  const size_t stored = ZSTD_compressCCtx(zstd_, buffer.data() + kBlockHeaderBytes, buffer.size() - kBlockHeaderBytes,
                                          payload.data(), payload.size(), level_);
  if (ZSTD_isError(stored) != 0) {
    return make_error(ErrorKind::kFailed, std::string("cannot compress a block: ") + ZSTD_getErrorName(stored));
  }
  block.size = kBlockHeaderBytes + stored;
  block.raw_bytes = static_cast<uint32_t>(payload.size());
  block.payload_crc = crc32c(bytes_of(buffer).first(block.size).subspan(kBlockHeaderBytes));
  return {};
}

BlockWriter::BlockWriter(std::unique_ptr<WritableFile> file, uint64_t capture_id, int zstd_level)
    : file_(std::move(file)), capture_id_(capture_id), packer_(zstd_level) {}

Result<void> BlockWriter::write(BlockHeader header, std::string_view payload) {
  if (auto packed = packer_.pack(payload, packed_); !packed) {
    return std::move(packed).error().within("cannot write " + file_->name());
  }
  return write(header, packed_);
}

Result<void> BlockWriter::write(BlockHeader header, PackedBlock& block) {
  header.version = kFormatVersion;
  header.sequence = sequence_;
  header.raw_bytes = block.raw_bytes;
  header.stored_bytes = static_cast<uint32_t>(block.size - kBlockHeaderBytes);
  header.payload_crc = block.payload_crc;
  header.capture_id = capture_id_;
  const auto encoded = encode_block_header(header);
  std::memcpy(block.buffer.data(), encoded.data(), encoded.size());
  const uint64_t before = bytes_written();
  if (auto done = file_->append(std::string_view(block.buffer).substr(0, block.size)); !done) {
    // A reader copes with the torn block too, where cutting fails as well.
    (void)file_->truncate(before);
    return done;
  }
  ++sequence_;
  bytes_.store(before + block.size, std::memory_order_relaxed);
  return {};
}

}  // namespace stackmap
