// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <ctime>

namespace stackmap {

namespace {

uint64_t clock_ns(clockid_t clock) {
  timespec ts{};
  (void)clock_gettime(clock, &ts);  // fails only for a clock that the kernel does not know
  return static_cast<uint64_t>(ts.tv_sec) * 1000000000U + static_cast<uint64_t>(ts.tv_nsec);
}

}  // namespace

uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

ClockAnchor clock_anchor() {
  // Of a few tries, the one whose two monotonic readings are closest.
  ClockAnchor best;
  uint64_t best_gap = ~uint64_t{0};
  for (int i = 0; i < 5; ++i) {
    const uint64_t before = monotonic_ns();
    const uint64_t boot = clock_ns(CLOCK_BOOTTIME);
    const uint64_t real = clock_ns(CLOCK_REALTIME);
    const uint64_t gap = monotonic_ns() - before;
    if (gap < best_gap) {
      best_gap = gap;
      best = {before + gap / 2, boot, real};
    }
  }
  return best;
}

}  // namespace stackmap
