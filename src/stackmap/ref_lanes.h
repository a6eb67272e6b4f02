// SPDX-License-Identifier: Apache-2.0
// How often each stack of a generation was handed out, counted in lanes: arrays with one count a stack, in the order of
// storing. A lane has one writer at a time, so that two threads that hit the same stack do not pass a cache line to and
// fro; the counts are added up when they are read. A lane takes up memory once it is used.
//
// Thread safety: all of it from any thread, but a lane below kShared from one at a time.
#pragma once

#include <atomic>
#include <bit>
#include <climits>
#include <cstdint>
#include <utility>

#include "base/result.h"
#include "stackmap/page_memory.h"

namespace stackmap {

class RefLanes {
 public:
  static constexpr uint32_t kCount = 8;
  static constexpr uint32_t kShared = kCount - 1;  // of everybody who has none alone
  static constexpr uint32_t kMaxRef = INT_MAX;

  static Result<RefLanes> create(uint32_t stacks) {
    STACKMAP_TRY_VALUE(memory, PageMemory::allocate(bytes_for(stacks)));
    return RefLanes(std::move(memory), length_for(stacks));
  }
  static uint64_t bytes_for(uint32_t stacks) { return length_for(stacks) * kCount * sizeof(uint32_t); }
  RefLanes(RefLanes&& other) noexcept
      : memory_(std::move(other.memory_)), length_(other.length_), used_(other.used_.load(std::memory_order_relaxed)) {}
  RefLanes& operator=(RefLanes&&) = delete;

  // Comes before the first add() to a lane. Relaxed throughout: a count orders nothing.
  void use(uint32_t lane) {
    if ((used_.load(std::memory_order_relaxed) & 1U << lane) == 0) {
      used_.fetch_or(1U << lane, std::memory_order_relaxed);
    }
  }
  // One more for the stack that was stored as number `entry`. Stays at kMaxRef once there.
  void add(uint32_t lane, uint32_t entry) {
    const auto cell = at(lane, entry);
    const uint32_t count = cell.load(std::memory_order_relaxed);
    if (count >= kMaxRef) {
      return;
    }
    if (lane != kShared) {
      // Nobody else writes it, so it needs no locked instruction.
      cell.store(count + 1, std::memory_order_relaxed);
    } else {
      // Passes kMaxRef by less than the number of threads, which sum() cuts off; a loop of exchanges would not be
      // bounded.
      cell.fetch_add(1, std::memory_order_relaxed);
    }
  }
  uint32_t sum(uint32_t entry) const {
    uint64_t sum = 0;
    for (uint32_t lanes = used_.load(std::memory_order_relaxed); lanes != 0; lanes &= lanes - 1) {
      sum += at(static_cast<uint32_t>(std::countr_zero(lanes)), entry).load(std::memory_order_relaxed);
    }
    return sum < kMaxRef ? static_cast<uint32_t>(sum) : kMaxRef;
  }

 private:
  friend struct GenerationTestPeer;

  // The stacks, in whole cache lines.
  static size_t length_for(uint32_t stacks) { return (size_t{stacks} + 15) / 16 * 16; }
  RefLanes(PageMemory memory, size_t length) : memory_(std::move(memory)), length_(length) {}
  std::atomic_ref<uint32_t> at(uint32_t lane, uint32_t entry) const {
    return std::atomic_ref<uint32_t>(reinterpret_cast<uint32_t*>(memory_.words())[lane * length_ + entry]);
  }

  PageMemory memory_;
  size_t length_;
  alignas(64) std::atomic<uint32_t> used_{0};  // one bit a lane; written once a lane, beside what all read
};

}  // namespace stackmap
