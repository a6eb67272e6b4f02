// SPDX-License-Identifier: Apache-2.0
// Tracepoints by name, and those that are to be recorded.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "record/kinds.h"

namespace stackmap {

struct Tracepoint {
  std::string category;
  std::string name;
  std::string full_name() const { return category + ":" + name; }
  auto operator<=>(const Tracepoint&) const = default;
};

struct EventSelection {
  std::vector<SampleKind> kinds;     // with programs, and fields, of their own
  std::vector<Tracepoint> any;       // any other ones, for their count and stack
  std::vector<std::string> missing;  // of the groups: events that this kernel lacks
};

// Of EventSelection::any.
inline constexpr size_t kMaxAnyEvents = 512;

}  // namespace stackmap
