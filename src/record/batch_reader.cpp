// SPDX-License-Identifier: Apache-2.0
#include "record/batch_reader.h"

#include <algorithm>

#include "base/bytes.h"
#include "bpf/stackmap_cache.h"

namespace stackmap {

namespace {

struct Entry {
  uint32_t when;
  uint32_t id;
};

}  // namespace

bool is_batch(std::span<const std::byte> record) {
  constexpr size_t kKind = offsetof(stackmap_record_header, kind);
  return record.size() > kKind && static_cast<uint8_t>(record[kKind]) == STACKMAP_BATCH;
}

BatchReader::BatchReader(std::span<const std::byte> record, uint32_t cpu) {
  if (record.size() < sizeof(stackmap_record_header)) {
    rest_ = {Reject::kTooShort, 1};
    return;
  }
  const auto header = load_unaligned<stackmap_record_header>(record);
  // What a batch says of its length is only believed as far as there are bytes for it.
  left_ = std::clamp<uint64_t>(header.kernel_stack < 0 ? 0 : static_cast<uint64_t>(header.kernel_stack), 1,
                               std::max<uint64_t>((record.size() - sizeof(header)) / sizeof(Entry), 1));
  if (header.size > record.size() || header.size < sizeof(header)) {
    rest_ = {Reject::kTooShort, left_};
    return;
  }
  if (header.kernel_stack < 1 || left_ != static_cast<uint64_t>(header.kernel_stack) || header.string_size != 0 ||
      header.user_stack != 0) {
    rest_ = {Reject::kBadSize, left_};
    return;
  }
  bytes_ = record.subspan(sizeof(header), header.size - sizeof(header));
  begun_ns_ = header.time_ns;
  event_.cpu = cpu;
  event_.tid = header.tid;
  event_.tgid = header.tgid;
}

// Events that are not there, or bytes behind the last one that was promised.
void BatchReader::end() {
  if (!rest_ && (left_ != 0 || !bytes_.empty())) {
    rest_ = {Reject::kBadSize, std::max<uint64_t>(left_, 1)};
  }
  bytes_ = {};
}

bool BatchReader::next() {
  while (bytes_.size() >= sizeof(Entry)) {
    const auto entry = load_unaligned<Entry>(bytes_);
    const size_t words = entry.when >> STACKMAP_BATCH_TIME_BITS;
    const size_t size = sizeof(Entry) + words * 8;
    const bool thread = entry.id >= STACKMAP_BATCH_THREAD;
    if (size > bytes_.size() || (thread && words != 0) || (!thread && left_ == 0)) {
      break;
    }
    const auto carried = bytes_.subspan(sizeof(Entry), words * 8);
    bytes_ = bytes_.subspan(size);
    if (thread) {
      event_.tid = entry.when;
      event_.tgid = entry.id - STACKMAP_BATCH_THREAD;
      continue;
    }
    --left_;
    event_.time_ns = begun_ns_ + (entry.when & STACKMAP_BATCH_TIME_MASK);
    event_.word = words == 0 ? 0 : load_unaligned<uint64_t>(carried);
    id_ = entry.id;
    words_ = words;
    return true;
  }
  end();
  return false;
}

}  // namespace stackmap
