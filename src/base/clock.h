// SPDX-License-Identifier: Apache-2.0
// Clocks in nanoseconds. Events carry CLOCK_MONOTONIC, as bpf_ktime_get_ns() gives it.
#pragma once

#include <cstdint>

namespace stackmap {

uint64_t monotonic_ns();

// The same moment on three clocks, so that event times can be told in wall time and across suspend.
struct ClockAnchor {
  uint64_t monotonic_ns = 0;
  uint64_t boottime_ns = 0;
  uint64_t realtime_ns = 0;
};
ClockAnchor clock_anchor();

}  // namespace stackmap
