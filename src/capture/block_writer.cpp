// SPDX-License-Identifier: Apache-2.0
#include "capture/block_writer.h"

#include <fmt/format.h>
#include <zstd.h>

#include <cstring>
#include <new>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace stackmap {

BlockWriter::BlockWriter(std::unique_ptr<WritableFile> file, uint64_t capture_id, int zstd_level)
    : file_(std::move(file)), capture_id_(capture_id), level_(zstd_level), zstd_(ZSTD_createCCtx()) {
  if (zstd_ == nullptr) {
    throw std::bad_alloc();
  }
}

BlockWriter::~BlockWriter() {
  (void)ZSTD_freeCCtx(zstd_);
}

Result<void> BlockWriter::write(BlockHeader header, std::string_view payload) {
  if (payload.size() > kMaxRawBlock) {
    return make_error(ErrorKind::kFailed,
                      fmt::format("a block of {} bytes is larger than {} can have", payload.size(), file_->name()));
  }
  buffer_.resize(kBlockHeaderBytes + ZSTD_compressBound(payload.size()));
  const size_t stored = ZSTD_compressCCtx(zstd_, buffer_.data() + kBlockHeaderBytes, buffer_.size() - kBlockHeaderBytes,
                                          payload.data(), payload.size(), level_);
  if (ZSTD_isError(stored) != 0) {
    return make_error(ErrorKind::kFailed, std::string("cannot compress a block: ") + ZSTD_getErrorName(stored));
  }
  buffer_.resize(kBlockHeaderBytes + stored);
  header.version = kFormatVersion;
  header.sequence = sequence_;
  header.raw_bytes = static_cast<uint32_t>(payload.size());
  header.stored_bytes = static_cast<uint32_t>(stored);
  header.payload_crc = crc32c(bytes_of(buffer_).subspan(kBlockHeaderBytes));
  header.capture_id = capture_id_;
  const auto encoded = encode_block_header(header);
  std::memcpy(buffer_.data(), encoded.data(), encoded.size());
  if (auto done = file_->append(std::string_view(buffer_)); !done) {
    // A reader copes with the torn block too, where cutting fails as well.
    (void)file_->truncate(bytes_);
    return done;
  }
  ++sequence_;
  bytes_ += buffer_.size();
  return {};
}

}  // namespace stackmap
