// SPDX-License-Identifier: Apache-2.0
// What -e names, against what this kernel has. Pure: takes a list of tracepoints.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "collector/tracefs.h"
#include "record/kinds.h"

namespace stackmap {

struct EventSelection {
  std::vector<KnownEvent> kinds;     // with programs, and fields, of their own
  std::vector<Tracepoint> any;       // any other ones, for their count and stack
  std::vector<std::string> missing;  // of the groups: events that this kernel lacks
};

inline constexpr size_t kMaxAnyEvents = 512;

// Each spec is a group ("kmem" or "sched": the events with fields of their own), an event ("category:name"), or a glob
// over full names ("sched:*", "*:*wake*"); several may be joined by commas. Without specs: both groups. An event that
// is named and missing, a glob that matches nothing, and more than kMaxAnyEvents others are errors; an event of a group
// that is missing is listed.
Result<EventSelection> select_events(const std::vector<std::string>& specs, const std::vector<Tracepoint>& available);

}  // namespace stackmap
