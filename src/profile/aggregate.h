// SPDX-License-Identifier: Apache-2.0
// Events -> profile. An event costs one probe of a flat table; names are looked up once a distinct stack. One that
// stands for several (event_repeats.h) counts that often.
//
// No weight is dropped for want of a stack: an event whose stack is missing goes to a bucket frame that says why. Bytes
// are those of allocations alone: `bytes_alloc` of kmalloc and kmem_cache_alloc (and their _node forms), the page size
// << `order` of mm_page_alloc. Other events, and allocations that failed, have none; totals and notes say how many.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "profile/event_source.h"
#include "profile/filter.h"
#include "profile/profile.h"

namespace stackmap {

enum class Weight : uint8_t { kCount, kBytes };

struct AggregateOptions {
  Weight weight = Weight::kCount;
  bool merge_tasks = false;    // no root frame for the task
  bool module_suffix = false;  // "name [module]"
};

struct AggregateTotals {
  uint64_t events = 0;    // in the source
  uint64_t filtered = 0;  // not accepted by the filter
  uint64_t counted = 0;   // in the profile
  // Accepted by the filter, but not part of a profile of bytes:
  uint64_t not_allocations = 0;
  uint64_t failed_allocations = 0;
  uint64_t unknown_size = 0;  // an allocation without a usable size
  // How the counted ones came by their stacks; together they are `counted`.
  uint64_t cookies = 0;         // the source holds the stack
  uint64_t missing_stacks = 0;  // a cookie of a stack that the source does not hold
  uint64_t fallbacks = 0;
  uint64_t stack_errors = 0;
  uint64_t no_stack = 0;
  // Counted events by EventType::id, in order of id.
  std::vector<std::pair<uint16_t, uint64_t>> by_type;
};

struct Aggregate {
  Profile profile;
  AggregateTotals totals;
};

// Fails only if the source does.
Result<Aggregate> aggregate(const EventSource& source, const Filter& filter, const AggregateOptions& options);

// "EFAULT"; the number where it has no name.
std::string errno_name(int errnum);

}  // namespace stackmap
