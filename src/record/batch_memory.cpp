// SPDX-License-Identifier: Apache-2.0
#include "record/batch_memory.h"

#include <algorithm>
#include <atomic>

#include "bpf/stackmap_cache.h"

namespace stackmap {

static_assert(BatchMemory::kBatchBytes == sizeof(stackmap_batch));

BatchMemory::BatchMemory(std::span<std::byte> memory)
    : batches_(reinterpret_cast<stackmap_batch*>(memory.data())), cpus_(memory.size() / kBatchBytes) {}

bool BatchMemory::is_empty(size_t cpu) const {
  return std::atomic_ref<__u32>(batches_[cpu].used).load(std::memory_order_relaxed) == 0;
}

void BatchMemory::claim(size_t cpu) {
  std::atomic_ref<__u32>(batches_[cpu].claimed).store(1, std::memory_order_seq_cst);
}

std::span<const std::byte> BatchMemory::take(size_t cpu) {
  stackmap_batch& batch = batches_[cpu];
  const size_t used = std::min<size_t>(batch.used, STACKMAP_BATCH_BYTES);
  if (used == 0) {
    return {};
  }
  batch.header.kind = STACKMAP_BATCH;
  batch.header.size = static_cast<__u16>(sizeof(batch.header) + used);
  ++batch.number;
  batch.used = 0;
  return std::as_bytes(std::span(&batch, 1)).subspan(offsetof(stackmap_batch, header), batch.header.size);
}

void BatchMemory::release(size_t cpu) {
  // Release: what take() wrote comes first.
  std::atomic_ref<__u32>(batches_[cpu].claimed).store(0, std::memory_order_release);
}

}  // namespace stackmap
