// SPDX-License-Identifier: Apache-2.0
// The numbers of a generation, and what they are called.
//
// The keys are those of the kernel's stack_map_stat (ftrace stack map series, v8): generation, entries, capacity,
// successes, fallbacks first and in that order. Those after them are our own and are only ever appended to. All memory
// figures are bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "stackmap/fallback.h"

namespace stackmap {

struct StackMapStats {
  uint32_t generation = 0;
  uint32_t entries = 0;      // stacks stored, and those being stored; at most `capacity`
  uint32_t capacity = 0;     // stacks
  OutcomeCounts outcomes{};  // of this generation
  uint32_t max_depth = 0;    // frames
  uint64_t arena_bytes = 0;  // frames, their headers and unused tails of chunks
  uint64_t arena_limit = 0;
  uint64_t table_bytes = 0;

  uint64_t successes() const { return outcomes[0]; }
  uint64_t fallbacks() const;
};

// The keys and their values, in that order.
void for_each_stat(const StackMapStats& stats, const std::function<void(std::string_view key, uint64_t value)>& line);

}  // namespace stackmap
