// SPDX-License-Identifier: Apache-2.0
#include "import/ftrace_counts.h"

#include <fmt/format.h>

#include "base/text.h"

namespace stackmap {

void FtraceCounts::add_to(Ledger& ledger, uint64_t events, const SkippedLines& skipped) const {
  ledger.set("import.events", events);
  ledger.set("import.stale_cookies", stale_cookies);
  ledger.set("import.unknown_cookies", unknown_cookies);
  ledger.set("import.lost_events", lost_events);
  ledger.set("import.lost_uncounted", lost_uncounted);
  ledger.set("import.overwritten", overwritten);
  ledger.set("import.user_stacks", user_stacks);
  ledger.set("import.skipped_lines", skipped.count());
}

std::vector<std::string> FtraceCounts::warnings(const SkippedLines& skipped) const {
  std::vector<std::string> warnings;
  if (skipped.count() != 0) {
    warnings.push_back(skipped.warning());
  }
  if (cut_frames != 0) {
    warnings.push_back(fmt::format("frames that are left out, of stacks of more than {}: {}", kMaxFtraceDepth,
                                   human_count(cut_frames)));
  }
  if (stale_cookies != 0) {
    warnings.push_back(
        fmt::format("events with a cookie of a generation that no --map is of: {}; 'script --resolve' says which",
                    human_count(stale_cookies)));
  }
  if (unknown_cookies != 0) {
    warnings.push_back(fmt::format(
        "events with a cookie that is not in the stack_map of its generation, which was saved too early: {}",
        human_count(unknown_cookies)));
  }
  return warnings;
}

std::string FtraceCounts::summary() const {
  if (lost_events + lost_uncounted + overwritten == 0) {
    return {};
  }
  return fmt::format("lost, as the trace says: {}; overwritten entries: {}", human_count(lost_events),
                     human_count(overwritten));
}

}  // namespace stackmap
