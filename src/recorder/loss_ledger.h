// SPDX-License-Identifier: Apache-2.0
// The account of every event that fired: where it went, and if it is not in the capture, why. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "capture/ledger.h"
#include "record/program_counters.h"
#include "record/record_decoder.h"
#include "stackmap/fallback.h"

namespace stackmap {

// What user space counted. Cumulative.
struct RecorderCounters {
  struct PerEvent {
    uint64_t recorded = 0;
    uint64_t task_records = 0;
  };
  std::map<std::string, PerEvent> events;  // by "category:name"
  std::array<uint64_t, kRejectReasons> rejects{};
  std::map<int, uint64_t> stack_errors;  // by errno
  uint64_t stacks_truncated = 0;
  uint64_t strings_truncated = 0;
  std::map<uint32_t, uint64_t> ring_lost;  // by CPU, as perf tells it
  uint64_t record_bytes = 0;
  uint64_t write_failures = 0;  // writes, of an event or of what was pending
  uint64_t unwritten = 0;       // events that met one
  uint64_t limit_cpu = 0;       // times that the ceiling of CPU time was reached
  uint64_t limit_memory = 0;    // and of memory

  RecorderCounters& operator+=(const RecorderCounters& other);
  uint64_t recorded() const;
};

// The names and meanings are FORMAT.md section 5's. `fallbacks` are those of the whole capture.
Ledger make_ledger(const std::vector<KernelEventCounters>& kernel, const RecorderCounters& recorder,
                   const OutcomeCounts& fallbacks);

}  // namespace stackmap
