// SPDX-License-Identifier: Apache-2.0
// Looks into a generation, and puts its slots and refs in states that need luck to reach.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "stackmap/generation.h"

namespace stackmap {

struct GenerationTestPeer {
  static constexpr uint32_t kPublishing = Generation::kPublishing;
  static constexpr uint32_t kNoEntry = Generation::kNoEntry;
  static constexpr uint32_t kNoRoom = Generation::kNoRoom;
  static void set_slot(Generation& generation, uint32_t slot, uint32_t hash, uint32_t low) {
    generation.table_.words()[slot] = uint64_t{hash} << 32 | low;
  }
  static void set_ref(Generation& generation, uint32_t lane, uint32_t entry, uint32_t count) {
    generation.use_lane(lane);
    generation.refs_.at(lane, entry).store(count, std::memory_order_relaxed);
  }
  static uint32_t ref(const Generation& generation, uint32_t lane, uint32_t entry) {
    return generation.refs_.at(lane, entry).load(std::memory_order_relaxed);
  }
  // Lanes that a session has had.
  static int lanes_used(const Generation& generation) { return std::popcount(generation.refs_.used_.load()); }
  // As a thread does that found room, claimed the slot, and was then overtaken by another.
  static Interned store(Generation& generation, uint32_t slot, uint32_t hash, std::span<const uint64_t> frames) {
    set_slot(generation, slot, hash, kPublishing);
    return generation.store(slot, hash, frames, 0);
  }
};

}  // namespace stackmap
