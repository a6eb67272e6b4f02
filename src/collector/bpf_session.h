// SPDX-License-Identifier: Apache-2.0
// The BPF side of one capture: open, load, attach, detach, counters. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "collector/cache_map.h"
#include "collector/tracefs.h"
#include "record/kinds.h"
#include "record/program_counters.h"
#include "record/record_source.h"

struct bpf_link;
struct bpf_program;
struct stackmap_bpf;

namespace stackmap {

struct BpfOptions {
  EventSelection events;
  uint32_t frames = 127;       // of the deepest stack to take; 1 to kMaxSampleFrames
  bool narrowed = false;       // record only the threads given to add_target()
  uint32_t cache_entries = 0;  // of the cookie cache: a power of two of at least 2; 0: without it
};

class BpfSession {
 public:
  // Opens and loads. Nothing is attached.
  static Result<std::unique_ptr<BpfSession>> load(const BpfOptions& options);
  ~BpfSession();
  BpfSession(const BpfSession&) = delete;
  BpfSession& operator=(const BpfSession&) = delete;

  int ring_map_fd() const;
  // The cookie cache of a session that was loaded with one. Must not outlive the session.
  Result<std::unique_ptr<CacheMap>> open_cache() const;
  // A thread to record.
  Result<void> add_target(uint32_t tid, Follow who);
  // Attaches every program. Nothing is recorded yet.
  Result<void> attach(const TraceFs& tracefs);
  // From here on, forks, execs, renames and exits are sent for the task table.
  void start_tasks();
  // From here on, events are sent and hits are counted.
  void start_events();
  // While throttled, events are counted and not sent, but for the rare ones that the task table needs too.
  void throttle(bool on);
  // Ends the recording and waits until no program runs any more: the counters are final then, and the rings hold all
  // that was sent. Then detaches.
  void stop();
  // By event, over all CPUs.
  Result<std::vector<KernelEventCounters>> counters() const;
  // By CPU, over all events: how many found no ring.
  Result<std::vector<uint64_t>> output_errors() const;

 private:
  explicit BpfSession(BpfOptions options) : options_(std::move(options)) {}
  Result<void> open();
  Result<void> size_maps();
  Result<void> attach_tracepoint(const TraceFs& tracefs, const Tracepoint& tracepoint, bpf_program* program,
                                 uint64_t cookie);
  bool selected(KnownEvent kind) const;
  bpf_program* program_of(const KindInfo& kind) const;
  Result<std::vector<ProgramCounters>> read_counters(uint32_t index) const;  // by CPU
  Result<ProgramCounters> sum_counters(uint32_t index) const;
  std::vector<std::pair<std::string, bpf_program*>> counted_programs() const;
  std::vector<uint64_t> read_misses() const;

  BpfOptions options_;
  stackmap_bpf* skeleton_ = nullptr;
  std::vector<bpf_link*> links_;
  // Recursion misses of counted_programs(): before the events were started, and when they were stopped.
  std::vector<uint64_t> misses_before_;
  std::vector<uint64_t> misses_at_end_;
};

// The kernel's limit on the depth of a stack: kernel.perf_event_max_stack, 127 by default.
Result<uint32_t> kernel_stack_limit();

}  // namespace stackmap
