// SPDX-License-Identifier: Apache-2.0
// What the BPF programs count of their own runs: every run ends in exactly one of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace stackmap {

// How the runs of one program on one CPU ended. What was put in a batch and lost with it is among ring_full and
// output_error.
struct ProgramCounters {
  uint64_t filtered = 0;
  uint64_t sent = 0;
  uint64_t ring_full = 0;
  uint64_t output_error = 0;
  uint64_t scratch_busy = 0;
  uint64_t batched = 0;  // of `sent`, those in a batch
  uint64_t throttled = 0;

  ProgramCounters& operator+=(const ProgramCounters& other);
  uint64_t total() const { return filtered + sent + ring_full + output_error + scratch_busy + throttled; }
};

// What the kernel side counted for one event, over all CPUs. Cumulative.
struct KernelEventCounters {
  std::string event;  // "category:name"
  ProgramCounters counters;
  uint64_t recursion_misses = 0;
};

// From a value of the map `programs`. `bytes` must hold at least kCounterBytes.
inline constexpr size_t kCounterBytes = 72;
ProgramCounters decode_counters(std::span<const std::byte> bytes);

}  // namespace stackmap
