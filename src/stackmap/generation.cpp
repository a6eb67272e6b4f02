// SPDX-License-Identifier: Apache-2.0
#include "stackmap/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

namespace stackmap {

namespace {

uint32_t slots_for(uint32_t capacity) {
  return std::bit_ceil(2 * capacity);
}

uint64_t arena_limit_of(const StackMapOptions& options) {
  return options.arena_limit != 0 ? options.arena_limit / FrameArena::kGrain * FrameArena::kGrain
                                  : FrameArena::limit_for(options.capacity, options.max_depth);
}

bool same_frames(std::span<const uint64_t> stored, std::span<const uint64_t> frames) {
  return stored.size() == frames.size() && std::memcmp(stored.data(), frames.data(), frames.size_bytes()) == 0;
}

}  // namespace

Result<void> StackMapOptions::validate() const {
  const auto refuse = [](std::string what) { return make_error(ErrorKind::kUsage, std::move(what)); };
  if (capacity < kMinCapacity || capacity > kMaxCapacity) {
    return refuse(
        fmt::format("the stack map's capacity must be from {} to {}, not {}", kMinCapacity, kMaxCapacity, capacity));
  }
  if (max_depth < 1 || max_depth > kMaxDepth) {
    return refuse(fmt::format("the stack map's depth must be from 1 to {}, not {}", kMaxDepth, max_depth));
  }
  if (arena_limit != 0 && (arena_limit < FrameArena::kGrain || arena_limit > FrameArena::kMaxLimit)) {
    return refuse(fmt::format("the stack map's arena limit must be from 64 KiB to 32 GiB, not {} bytes", arena_limit));
  }
  if (first_generation == 0) {
    return refuse("generations start at 1");
  }
  return {};
}

Result<std::unique_ptr<Generation>> Generation::create(const StackMapOptions& options, uint32_t number) {
  STACKMAP_TRY(options.validate());
  STACKMAP_TRY_VALUE(table, PageMemory::allocate(slots_for(options.capacity) * sizeof(uint64_t)));
  STACKMAP_TRY_VALUE(refs, RefLanes::create(options.capacity));
  STACKMAP_TRY_VALUE(arena, FrameArena::create(arena_limit_of(options)));
  return std::unique_ptr<Generation>(
      new Generation(options, number, std::move(table), std::move(refs), std::move(arena)));
}

Generation::Generation(const StackMapOptions& options, uint32_t number, PageMemory table, RefLanes refs,
                       FrameArena arena)
    : slot_count_(slots_for(options.capacity)),
      shift_(static_cast<uint32_t>(32 - std::countr_zero(slot_count_))),
      capacity_(options.capacity),
      max_depth_(options.max_depth),
      number_(number),
      seed_(options.seed != 0 ? options.seed : std::random_device{}()),
      hash_(options.hash != nullptr ? options.hash : fastest_stack_hash()),
      table_(std::move(table)),
      refs_(std::move(refs)),
      arena_(std::move(arena)) {}

std::atomic_ref<uint64_t> Generation::slot(uint32_t index) const {
  return std::atomic_ref<uint64_t>(table_.words()[index]);
}

Interned Generation::intern(std::span<const uint64_t> frames, uint32_t lane) {
  if (frames.empty()) {
    return {{}, Fallback::kEmpty, false};
  }
  if (frames.size() > max_depth_) {
    return {{}, Fallback::kTooDeep, false};
  }
  uint32_t hash = hash_(frames, seed_);
  // Zero marks a free slot.
  hash = hash != 0 ? hash : 1;

  Fallback given_up = Fallback::kProbes;
  const uint32_t probes = std::min(kMaxProbes, slot_count_);
  for (uint32_t probe = 0, index = hash >> shift_; probe < probes; ++probe, index = (index + 1) & (slot_count_ - 1)) {
    // Acquire: with the release in store(), the frames behind a handle are seen whole.
    uint64_t word = slot(index).load(std::memory_order_acquire);
    if (word == 0) {
      const Fallback reason = why_not_storable(frames.size());
      if (reason != Fallback::kNone) {
        return {{}, reason, false};
      }
      // Acquire for the failure: the slot then holds another stack, or this one. A claim itself publishes nothing.
      if (slot(index).compare_exchange_strong(word, slot_word(hash, kPublishing), std::memory_order_acquire)) {
        return store(index, hash, frames, lane);
      }
    }
    if (word >> 32 != hash) {
      continue;
    }
    const auto handle = static_cast<uint32_t>(word);
    if (handle == kPublishing) {
      return {{}, Fallback::kBeingPublished, false};
    }
    if (handle < FrameArena::kFirstHandle) {
      // Given up, perhaps for this stack. Another of the same hash may lie further on.
      given_up = handle == kNoEntry ? Fallback::kFull : Fallback::kArena;
      continue;
    }
    const FrameArena::Stack stack = arena_.at(handle);
    if (same_frames(stack.frames, frames)) {
      refs_.add(lane, stack.tag);
      return {{number_, index}, Fallback::kNone, false};
    }
  }
  return {{}, given_up, false};
}

// Keeps slots from being claimed in vain, so that only a race gives one up.
Fallback Generation::why_not_storable(size_t depth) {
  // Relaxed: the counts only grow, and store() decides.
  if (reserved_.load(std::memory_order_relaxed) >= capacity_) {
    return Fallback::kFull;
  }
  return arena_.make_room(depth) ? Fallback::kNone : Fallback::kArena;
}

// Stores the stack in the slot that this thread has claimed. The frames go first: an entry once reserved is stored for
// certain, so `entries` counts neither more nor less than what is there.
Interned Generation::store(uint32_t index, uint32_t hash, std::span<const uint64_t> frames, uint32_t lane) {
  const uint32_t handle = arena_.append(frames);
  if (handle == FrameArena::kNoHandle) {
    // Relaxed: nothing lies behind a slot that was given up.
    slot(index).store(slot_word(hash, kNoRoom), std::memory_order_relaxed);
    return {{}, Fallback::kArena, false};
  }
  const uint32_t entry = reserved_.fetch_add(1, std::memory_order_relaxed);
  if (entry >= capacity_) {
    slot(index).store(slot_word(hash, kNoEntry), std::memory_order_relaxed);
    return {{}, Fallback::kFull, false};
  }
  arena_.set_tag(handle, entry);
  refs_.add(lane, entry);
  // Release: the frames, and the chunk that they are in, are seen by whoever acquires the handle.
  slot(index).store(slot_word(hash, handle), std::memory_order_release);
  return {{number_, index}, Fallback::kNone, true};
}

bool Generation::count_again(Cookie cookie, uint32_t lane) {
  if (cookie.generation() != number_ || cookie.slot() >= slot_count_) {
    return false;
  }
  // Acquire: as in intern().
  const auto handle = static_cast<uint32_t>(slot(cookie.slot()).load(std::memory_order_acquire));
  if (handle < FrameArena::kFirstHandle) {
    return false;
  }
  refs_.add(lane, arena_.at(handle).tag);
  return true;
}

void Generation::count(const OutcomeCounts& outcomes) {
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i] != 0) {
      outcomes_[i].fetch_add(outcomes[i], std::memory_order_relaxed);
    }
  }
}

std::optional<StackRecord> Generation::record_at(uint32_t index) const {
  if (index >= slot_count_) {
    return std::nullopt;
  }
  // Acquire: as in intern().
  const auto handle = static_cast<uint32_t>(slot(index).load(std::memory_order_acquire));
  if (handle < FrameArena::kFirstHandle) {
    return std::nullopt;
  }
  const FrameArena::Stack stack = arena_.at(handle);
  return StackRecord{index, refs_.sum(stack.tag), stack.frames};
}

LookupResult Generation::lookup(Cookie cookie) const {
  if (cookie.generation() != number_) {
    return {LookupStatus::kStale, {}};
  }
  const auto record = record_at(cookie.slot());
  return record ? LookupResult{LookupStatus::kFound, *record} : LookupResult{LookupStatus::kUnknown, {}};
}

StackMapStats Generation::stats() const {
  StackMapStats stats;
  stats.generation = number_;
  stats.entries = std::min(reserved_.load(std::memory_order_relaxed), capacity_);
  stats.capacity = capacity_;
  for (size_t i = 0; i < stats.outcomes.size(); ++i) {
    stats.outcomes[i] = outcomes_[i].load(std::memory_order_relaxed);
  }
  stats.max_depth = max_depth_;
  stats.arena_bytes = arena_.used();
  stats.arena_limit = arena_.limit();
  stats.table_bytes = table_.bytes();
  return stats;
}

uint64_t Generation::memory_limit(const StackMapOptions& options) {
  const uint64_t arena_limit = arena_limit_of(options);
  return sizeof(Generation) + slots_for(options.capacity) * sizeof(uint64_t) + RefLanes::bytes_for(options.capacity) +
         FrameArena::directory_bytes(arena_limit) + arena_limit;
}

}  // namespace stackmap
