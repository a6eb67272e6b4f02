// SPDX-License-Identifier: Apache-2.0
// One generation of the stack map: the table, the frames and the counters. Threads intern through StackMap::Session;
// this header is for those who read.
//
// The table has 2 x capacity slots, rounded up to a power of two, of 8 bytes: a 32-bit hash and where the stack is in
// the arena. A stack lies in one of the 64 slots that follow from its hash (linear probing), and stays there.
//
// A slot is written three times at most:
//   free (0)  ->  claimed (hash, kPublishing)  ->  stored (hash, handle), or given up (hash, kNoEntry / kNoRoom)
// A slot is given up if another thread took the last entry, or the arena's last room, between the claim and the
// storing. It is not set free again: a stack that was probed past it would be stored a second time in front of itself.
//
// `ref` is kept in lanes (ref_lanes.h), of which each session has one of its own; those beyond the first seven share
// the last one.
//
// Reading is safe at any time and does not hold up interning. It is no snapshot: stacks that are stored while one
// iterates may or may not be seen. Complexity: intern and lookup O(1), bounded as stack_map.h says; for_each O(slots).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "stackmap/cookie.h"
#include "stackmap/fallback.h"
#include "stackmap/frame_arena.h"
#include "stackmap/page_memory.h"
#include "stackmap/ref_lanes.h"
#include "stackmap/stack_hash.h"
#include "stackmap/stack_map_stats.h"

namespace stackmap {

struct StackMapOptions {
  static constexpr uint32_t kMinCapacity = 4;
  static constexpr uint32_t kMaxCapacity = 4U << 20;
  static constexpr uint32_t kMaxDepth = 1024;

  uint32_t capacity = 16384;  // stacks
  uint32_t max_depth = 127;   // frames; the kernel's own limit unless kernel.perf_event_max_stack says otherwise
  // Ceiling of the frames' memory in bytes, rounded down to 64 KiB. 0: room for `capacity` stacks of `max_depth`.
  uint64_t arena_limit = 0;
  bool start_on = true;
  // 0: a random seed for each generation.
  uint32_t seed = 0;
  // Null: the fastest for this processor. Any function is correct, a bad one costs probes.
  StackHash hash = nullptr;
  uint32_t first_generation = 1;

  // kUsage if a field is out of range.
  Result<void> validate() const;
};

struct StackRecord {
  uint32_t slot = 0;
  uint32_t ref = 0;  // cookies handed out for this stack; stays at INT_MAX once there
  std::span<const uint64_t> frames;
};

enum class LookupStatus : uint8_t {
  kFound,
  kStale,    // the cookie is of another generation
  kUnknown,  // of this generation, but no stack has it
};

struct LookupResult {
  LookupStatus status = LookupStatus::kUnknown;
  StackRecord record;  // meaningful if found; valid while the generation is held
};

class Generation {
 public:
  static constexpr uint32_t kMaxProbes = 64;

  static Result<std::unique_ptr<Generation>> create(const StackMapOptions& options, uint32_t number);

  // Interns without counting the outcome; StackMap::Session counts it. Never returns kOff. `lane` is below
  // RefLanes::kCount, and no other thread uses it at the same time, save RefLanes::kShared; use_lane() comes first.
  Interned intern(std::span<const uint64_t> frames, uint32_t lane);
  // Counts one more cookie for the stack that has it, as intern() of that stack would. False if none has. The lane as
  // for intern(); bounded, and waits for nobody.
  bool count_again(Cookie cookie, uint32_t lane);
  void use_lane(uint32_t lane) { refs_.use(lane); }
  void count(const OutcomeCounts& outcomes);

  uint32_t number() const { return number_; }
  uint32_t slot_count() const { return slot_count_; }

  LookupResult lookup(Cookie cookie) const;
  // The stack in that slot, if one is stored there.
  std::optional<StackRecord> record_at(uint32_t slot) const;
  // Calls visit(const StackRecord&) for the stored stacks in slot order.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (uint32_t slot = 0; slot < slot_count_; ++slot) {
      if (const auto record = record_at(slot)) {
        visit(*record);
      }
    }
  }

  StackMapStats stats() const;
  // The most memory that a generation takes, in bytes.
  static uint64_t memory_limit(const StackMapOptions& options);

 private:
  friend struct GenerationTestPeer;  // puts slots and refs in states that need luck to reach

  // A slot's low half below FrameArena::kFirstHandle says that no stack is stored there.
  static constexpr uint32_t kPublishing = 0;
  static constexpr uint32_t kNoEntry = 1;
  static constexpr uint32_t kNoRoom = 2;

  Generation(const StackMapOptions& options, uint32_t number, PageMemory table, RefLanes refs, FrameArena arena);
  static constexpr uint64_t slot_word(uint32_t hash, uint32_t handle) { return uint64_t{hash} << 32 | handle; }
  std::atomic_ref<uint64_t> slot(uint32_t index) const;
  Fallback why_not_storable(size_t depth);
  Interned store(uint32_t index, uint32_t hash, std::span<const uint64_t> frames, uint32_t lane);

  // Read by every intern, written by none.
  uint32_t slot_count_;
  uint32_t shift_;  // from a hash to its first slot
  uint32_t capacity_;
  uint32_t max_depth_;
  uint32_t number_;
  uint32_t seed_;
  StackHash hash_;
  PageMemory table_;
  RefLanes refs_;
  FrameArena arena_;
  // Written when a stack is stored. Can exceed the capacity, by the threads that lost the race for the last entry.
  alignas(64) std::atomic<uint32_t> reserved_{0};
  // Written when a session hands in.
  alignas(64) std::array<std::atomic<uint64_t>, kFallbackCount> outcomes_{};
};

}  // namespace stackmap
