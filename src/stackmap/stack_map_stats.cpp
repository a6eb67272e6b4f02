// SPDX-License-Identifier: Apache-2.0
#include "stackmap/stack_map_stats.h"

#include <fmt/format.h>

#include <numeric>

namespace stackmap {

namespace {

constexpr std::array<std::string_view, kFallbackCount> kNames = {
    "none", "full", "probes", "arena", "being_published", "too_deep", "off", "empty"};

}  // namespace

std::string_view fallback_name(Fallback fallback) {
  return kNames[static_cast<size_t>(fallback)];
}

uint64_t StackMapStats::fallbacks() const {
  return std::accumulate(outcomes.begin() + 1, outcomes.end(), uint64_t{0});
}

void for_each_stat(const StackMapStats& stats, const std::function<void(std::string_view key, uint64_t value)>& line) {
  line("generation", stats.generation);
  line("entries", stats.entries);
  line("capacity", stats.capacity);
  line("successes", stats.successes());
  line("fallbacks", stats.fallbacks());
  for (size_t reason = 1; reason < kFallbackCount; ++reason) {
    line(fmt::format("fallbacks_{}", kNames[reason]), stats.outcomes[reason]);
  }
  line("max_depth", stats.max_depth);
  line("arena_bytes", stats.arena_bytes);
  line("arena_limit", stats.arena_limit);
  line("table_bytes", stats.table_bytes);
}

}  // namespace stackmap
