// SPDX-License-Identifier: Apache-2.0
// What a trace says of itself is missing, and what could not be taken of it: for the ledger and for the user.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/ledger.h"
#include "import/text_lines.h"

namespace stackmap {

struct FtraceCounts {
  uint64_t stale_cookies = 0;    // events whose cookie is of a generation that no map is of
  uint64_t unknown_cookies = 0;  // events whose cookie is not in the map of its generation
  uint64_t lost_events = 0;      // as the trace says
  uint64_t lost_uncounted = 0;   // places where the trace says that events were lost and not how many
  uint64_t overwritten = 0;      // entries of the ring, as the trace's head says
  uint64_t user_stacks = 0;      // left out
  uint64_t cut_frames = 0;       // left out, of stacks that are deeper than any kernel's

  void add_to(Ledger& ledger, uint64_t events, const SkippedLines& skipped) const;
  // As in Import.
  std::vector<std::string> warnings(const SkippedLines& skipped) const;
  std::string summary() const;
};

// A stack with more frames is refused in a map, and cut in a trace.
inline constexpr size_t kMaxFtraceDepth = 4096;

}  // namespace stackmap
