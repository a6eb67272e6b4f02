// SPDX-License-Identifier: Apache-2.0
// The loss ledger, for people. An event is lost if the ring was full, it could not be sent, its scratch space was busy,
// the kernel kept the program from running inside itself, the profiler was at its own ceiling of CPU time (throttled),
// or what was sent could not be decoded. Filtered events and fallback stacks are not losses. Counter names are
// documented in src/capture/FORMAT.md; names that are not known here are shown as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "capture/ledger.h"

namespace stackmap {

struct LossTotals {
  bool known = false;   // the ledger has counters of events
  uint64_t wanted = 0;  // hits that were not filtered out and were not for the task table alone
  uint64_t ring_full = 0;
  uint64_t output_error = 0;
  uint64_t scratch_busy = 0;
  uint64_t recursion_misses = 0;
  uint64_t throttled = 0;
  uint64_t rejected = 0;

  uint64_t lost() const;
  // Of the wanted ones, 0 to 1.
  double ratio() const;
};
LossTotals loss_totals(const Ledger& ledger);

// "lost 0 of 1,234,567 events", "lost 12 of 1,234,567 events: 10 ring full, 2 missed (recursion)".
std::string one_line_summary(const Ledger& ledger);

// A table with a row an event, then what else is not zero. A write that failed is reported by out.flush().
void write_losses(const Ledger& ledger, TextWriter& out);

}  // namespace stackmap
