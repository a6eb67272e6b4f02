// SPDX-License-Identifier: Apache-2.0
// What the BPF programs count of their own runs: every run ends in exactly one of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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
  uint64_t total() const;
};

// A row a counter: the one place, beside the member, where a counter is named.
struct ProgramCounterInfo {
  enum class Role : uint8_t {
    kOutcome,  // a way for a run to end: these add up to the total
    kAmong,    // tells more of another one
  };
  std::string_view name;  // in the ledger, behind "event.EVENT."
  uint64_t ProgramCounters::*member;
  Role role;
};
// In the order of the ledger.
std::span<const ProgramCounterInfo> program_counters();

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
