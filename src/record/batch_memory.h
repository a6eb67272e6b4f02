// SPDX-License-Identifier: Apache-2.0
// The batches as they grow (bpf/stackmap_cache.h), in memory shared with the BPF programs, one a CPU. A program sends
// the batch of a CPU that is online; of one that is offline user space takes it, so:
//
//   claim(cpu); wait until every program that was running has ended; take(cpu); decode it; release(cpu)
//
// Between claim() and release() programs leave the batch alone, should the CPU come online. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

struct stackmap_batch;

namespace stackmap {

class BatchMemory {
 public:
  static constexpr size_t kBatchBytes = 2048;

  // `memory` is aligned to 8 bytes, and must outlive this.
  explicit BatchMemory(std::span<std::byte> memory);

  size_t cpus() const { return cpus_; }
  bool is_empty(size_t cpu) const;
  void claim(size_t cpu);
  // The record that a program would have sent; empty if there is none. Valid until release(). The batch is empty then.
  std::span<const std::byte> take(size_t cpu);
  void release(size_t cpu);

 private:
  stackmap_batch* batches_;
  size_t cpus_;
};

}  // namespace stackmap
