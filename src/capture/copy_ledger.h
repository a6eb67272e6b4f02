// SPDX-License-Identifier: Apache-2.0
// The account that a copy of a capture gives of what is not in it. For copy_capture.cpp alone.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "capture/capture.h"
#include "capture/copy_capture.h"
#include "capture/ledger.h"

namespace stackmap {

// Events whose cookie the source has no stack of. In an imported capture that is in order for as many as the import has
// counted; all others were lost since.
class CookiesWithoutStack {
 public:
  explicit CookiesWithoutStack(const Capture& from);

  // Whether the copy's event keeps the cookie, which then is counted; else its stack is lost.
  bool keep(Cookie cookie);
  // Events that kept their cookie and are more than the import has counted.
  uint64_t lost_since() const { return stale_ + unknown_ - stale_counted() - unknown_counted(); }
  // Has the import's counters say how many cookies of the copy have no stack.
  void set_counters(Ledger& ledger) const;

 private:
  uint64_t stale_counted() const;
  uint64_t unknown_counted() const;

  const Ledger& import_;
  const bool is_import_;
  std::unordered_set<uint32_t> generations_;  // that the source has stacks of
  uint64_t stale_ = 0;                        // events: of a generation without a stack
  uint64_t unknown_ = 0;                      // of one that has some
};

// The source's, with what was lost on the way.
Ledger copy_ledger(const Capture& from, const CopyOptions& options, const CookiesWithoutStack& without_stack,
                   const CopyTotals& totals);

}  // namespace stackmap
