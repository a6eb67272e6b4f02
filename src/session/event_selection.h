// SPDX-License-Identifier: Apache-2.0
// What -e names, against what this kernel has. Pure: takes a list of tracepoints.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "record/tracepoint.h"

namespace stackmap {

// Each spec is a group ("kmem" or "sched": the events with fields of their own), an event ("category:name"), or a glob
// over full names ("sched:*", "*:*wake*"); several may be joined by commas. Without specs: both groups. An event that
// is named and missing, a glob that matches nothing, and more than kMaxAnyEvents others are errors; an event of a group
// that is missing is listed.
Result<EventSelection> select_events(const std::vector<std::string>& specs, const std::vector<Tracepoint>& available);

}  // namespace stackmap
