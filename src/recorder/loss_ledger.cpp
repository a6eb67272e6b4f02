// SPDX-License-Identifier: Apache-2.0
#include "recorder/loss_ledger.h"

#include <fmt/format.h>

#include "base/text.h"

namespace stackmap {

uint64_t RecorderCounters::recorded() const {
  uint64_t sum = 0;
  for (const auto& [name, event] : events) {
    sum += event.recorded;
  }
  return sum;
}

RecorderCounters& RecorderCounters::operator+=(const RecorderCounters& other) {
  for (const auto& [name, event] : other.events) {
    events[name].recorded += event.recorded;
    events[name].task_records += event.task_records;
  }
  for (size_t i = 0; i < rejects.size(); ++i) {
    rejects[i] += other.rejects[i];
  }
  for (const auto& [errnum, count] : other.stack_errors) {
    stack_errors[errnum] += count;
  }
  for (const auto& [cpu, lost] : other.ring_lost) {
    ring_lost[cpu] += lost;
  }
  stacks_truncated += other.stacks_truncated;
  strings_truncated += other.strings_truncated;
  record_bytes += other.record_bytes;
  write_failures += other.write_failures;
  unwritten += other.unwritten;
  limit_cpu += other.limit_cpu;
  limit_memory += other.limit_memory;
  return *this;
}

Ledger make_ledger(const std::vector<KernelEventCounters>& kernel, const RecorderCounters& recorder,
                   const OutcomeCounts& fallbacks) {
  Ledger ledger;
  for (const KernelEventCounters& event : kernel) {
    const std::string prefix = "event." + event.event + ".";
    const ProgramCounters& c = event.counters;
    ledger.set(prefix + "hits", c.total() + event.recursion_misses);
    for (const ProgramCounterInfo& info : program_counters()) {
      ledger.set(prefix + std::string(info.name), c.*info.member);
    }
    ledger.set(prefix + "recursion_misses", event.recursion_misses);
  }
  for (const auto& [name, event] : recorder.events) {
    // Of the others nothing was asked for.
    if (event.recorded != 0 || event.task_records != 0 || ledger.has("event." + name + ".hits")) {
      ledger.set("event." + name + ".recorded", event.recorded);
      ledger.set("event." + name + ".task_records", event.task_records);
    }
  }
  for (size_t i = 0; i < recorder.rejects.size(); ++i) {
    ledger.set(fmt::format("reject.{}", reject_name(static_cast<Reject>(i))), recorder.rejects[i]);
  }
  for (const auto& [errnum, count] : recorder.stack_errors) {
    ledger.set("stack.error." + errno_name(errnum), count);
  }
  ledger.set("stack.truncated", recorder.stacks_truncated);
  ledger.set("string.truncated", recorder.strings_truncated);
  for (size_t i = 1; i < fallbacks.size(); ++i) {
    ledger.set(fmt::format("fallback.{}", fallback_name(static_cast<Fallback>(i))), fallbacks[i]);
  }
  for (const auto& [cpu, lost] : recorder.ring_lost) {
    ledger.set(fmt::format("ring.lost.cpu{}", cpu), lost);
  }
  ledger.set("ring.bytes", recorder.record_bytes);
  ledger.set("write.failures", recorder.write_failures);
  ledger.set("write.lost_events", recorder.unwritten);
  ledger.set("limit.cpu", recorder.limit_cpu);
  ledger.set("limit.memory", recorder.limit_memory);
  return ledger;
}

}  // namespace stackmap
