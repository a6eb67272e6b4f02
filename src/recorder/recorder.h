// SPDX-License-Identifier: Apache-2.0
// Ring bytes in, capture out: decodes a record, gives its stack a cookie, keeps the task table, and writes. Knows no
// BPF and no files but the capture it is given. Counts everything that it does not write.
//
// Records are taken in lanes, each by one thread at a time, beside the others. Everything else, here, is to be called
// while no lane takes any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "capture/capture_writer.h"
#include "capture/event_condition.h"
#include "process/kernel_symbol.h"
#include "process/task_table.h"
#include "record/cookie_cache.h"
#include "recorder/live_tasks.h"
#include "recorder/loss_ledger.h"
#include "recorder/recorder_lane.h"
#include "recorder/recorder_tables.h"
#include "stackmap/stack_map.h"

namespace stackmap {

class Recorder {
 public:
  struct Options {
    // The tracepoints without a program of their own: number kFirstAnyEvent + i is any_events[i].
    std::vector<AnyEvent> any_events;
    // Frames that were asked for: a stack of as many may have had more.
    uint32_t frames_asked = 127;
    // Who names the frames; null: nobody, the capture holds addresses alone.
    KernelNamer* namer = nullptr;
    // Each event is held against these, until one matches.
    std::vector<EventPattern> patterns;
    // What is known of a thread that no record has told of; null: nothing.
    LiveTasks::Find find_task;
    // What the BPF programs may send in batches; null: nothing. Must outlive the recorder, which keeps its generation.
    CookieCache* cache = nullptr;
    // How many threads take records at most.
    size_t lanes = 1;
  };

  // The map and the writer must outlive the recorder, or its rotate().
  Recorder(Options options, StackMap& map, CaptureWriter& writer);

  // The event types of a capture with these tracepoints: the known ones, and any_events from kFirstFreeEventType.
  static std::vector<EventType> event_types(const std::vector<AnyEvent>& any_events);

  RecorderLane& lane(size_t number) { return *lanes_[number]; }
  // Ends the runs of records of all lanes.
  void end_batch();
  // Whether something is to be done that a lane cannot do: the cookie cache wants a round, an event matched a pattern,
  // or there was a write error. Of `lane`, by its own thread.
  bool wants_attention(const RecorderLane& lane) const { return tables_.wants_attention() || lane.fired().has_value(); }
  void attended() { tables_.attended(); }

  // To be called when the map was turned on or off, so that the cookie cache follows at once.
  void follow_map();

  // A thread that is there at the start. It goes into the capture when an event first tells of it.
  void add_seen_task(TaskRecord record) { tables_.add_seen_task(std::move(record)); }

  // Ends the map's generation: what was recorded before carries its cookies, what comes after the next one's. Writes
  // what is pending, and the final refs of the generation that ends. On an error of the map (not of the writing)
  // nothing has changed.
  Result<void> reset_map();
  // Drops the map, which must be off; its refs are written first. What it returns expires with the map's last reader.
  Result<std::weak_ptr<const Generation>> free_map();

  // Gives back what can be had again: ends the map's generation as reset_map() does, and forgets which addresses are
  // named.
  Result<void> shed_memory();
  // How often the ceilings of CPU time and memory were reached, for the ledger.
  void set_limits(uint64_t cpu, uint64_t memory) { limit_cpu_ = cpu, limit_memory_ = memory; }

  // Names new addresses and writes what is pending, with the ledger as of now.
  Result<void> flush(const std::vector<KernelEventCounters>& kernel);
  // The last flush: also writes the refs of the current generation, and the end.
  Result<void> close(const std::vector<KernelEventCounters>& kernel);
  // Closes the capture, and goes on in another one, of the next generation: each stands by itself. `next` must outlive
  // the recorder, or its next rotate(). On an error (the map's: see StackMap::reset) nothing has changed. Errors of
  // writing are kept: see status().
  Result<void> rotate(CaptureWriter& next, const std::vector<KernelEventCounters>& kernel);

  // The first event that matched a pattern since the last call.
  using Fired = RecorderLane::Fired;
  std::optional<Fired> take_fired();

  // The first write error, if there was one. The events that met one are counted as write failures.
  const std::optional<Error>& status() const { return tables_.status(); }
  RecorderCounters counters() const;
  // Of the whole recording, whatever the captures that it is in.
  Ledger ledger(const std::vector<KernelEventCounters>& kernel) const;
  uint64_t stacks_stored() const { return tables_.stacks_stored(); }

 private:
  Ledger capture_ledger(const std::vector<KernelEventCounters>& kernel) const;
  Result<void> write_refs(const Generation& generation);
  Result<void> keep_status(Result<void> written);

  StackMap& map_;
  CookieCache* cache_;
  RecorderTables tables_;
  std::vector<std::unique_ptr<RecorderLane>> lanes_;
  uint64_t flush_failures_ = 0;  // write failures that no lane has met
  uint64_t limit_cpu_ = 0;
  uint64_t limit_memory_ = 0;
  Ledger before_capture_;  // the recording's ledger when this capture began
};

}  // namespace stackmap
