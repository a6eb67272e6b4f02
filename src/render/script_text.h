// SPDX-License-Identifier: Apache-2.0
// Events as the kernel's trace file prints them, the stack as the ftrace stack map series prints it:
//
//             bash-1234    [001] .....   123.456789: kmem_cache_free: call_site=0xffffffff81 ptr=0xffff8881
//             bash-1234    [001] .....   123.456789: <stack_id 42 gen 1>
//
// The five flag columns are dots, since a capture holds no flags. Times are seconds of CLOCK_MONOTONIC, rounded to
// microseconds as the kernel rounds them. Field names and order are the event type's; a field without a name is printed
// as its value alone, so that the text of an imported event comes out as it went in.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/file.h"
#include "base/result.h"
#include "profile/event_source.h"
#include "profile/filter.h"

namespace stackmap {

struct ScriptOptions {
  Filter filter = {};
  // The full stack in place of its cookie. A cookie whose stack the capture does not hold stays a cookie, and says so.
  bool resolve = false;
  // An imported source: the generations that it has the stack_map of. A cookie without a stack then says whether it is
  // stale, and which map it would need.
  std::optional<std::set<uint32_t>> imported_generations = {};
};

struct ScriptTotals {
  uint64_t events = 0;  // in the source
  uint64_t printed = 0;
  uint64_t missing_stacks = 0;  // resolve only: printed with a cookie that the capture does not hold
};

// Stops early once `out` has failed; out.flush() reports that. Fails only if the source does.
Result<ScriptTotals> write_script(const EventSource& source, const ScriptOptions& options, TextWriter& out);

// "R", "S", "D|K+": prev_state of sched_switch.
std::string task_state_text(uint64_t state);

// One field's value, by its format.
std::string field_text(const EventSource& source, FieldFormat format, uint64_t value);

}  // namespace stackmap
