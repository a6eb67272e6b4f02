// SPDX-License-Identifier: Apache-2.0
// Ring bytes in, capture out: decodes a record, gives its stack a cookie, keeps the task table, and writes. Knows no
// BPF and no files but the capture it is given. Counts everything that it does not write.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "capture/capture_writer.h"
#include "process/kernel_symbol.h"
#include "process/task_table.h"
#include "record/record_decoder.h"
#include "recorder/cookie_cache.h"
#include "recorder/glue_trimmer.h"
#include "recorder/live_tasks.h"
#include "recorder/loss_ledger.h"
#include "recorder/trigger.h"
#include "stackmap/stack_map.h"

namespace stackmap {

class Recorder : private BatchEvents {
 public:
  struct Options {
    // The tracepoints without a program of their own: number kFirstAnyEvent + i is any_events[i] ("category:name").
    std::vector<std::string> any_events;
    // Frames that were asked for: a stack of as many may have had more.
    uint32_t frames_asked = 127;
    // Who names the frames; null: nobody, the capture holds addresses alone.
    KernelNamer* namer = nullptr;
    // Each event is held against these.
    std::vector<Trigger> triggers;
    // What is known of a thread that no record has told of; null: nothing.
    LiveTasks::Find find_task;
    // What the BPF programs may send in batches; null: nothing. Must outlive the recorder, which keeps its generation.
    CookieCache* cache = nullptr;
  };

  // The map and the writer must outlive the recorder, or its rotate().
  Recorder(Options options, StackMap& map, CaptureWriter& writer);

  // The event types of a capture with these tracepoints: the known ones, and any_events from kFirstFreeEventType.
  static std::vector<EventType> event_types(const std::vector<std::string>& any_events);

  // One record of the ring of `cpu`. Write errors are kept: see status().
  void on_record(std::span<const std::byte> bytes, uint32_t cpu);
  // perf says that `count` records were lost on `cpu`.
  void on_lost(uint32_t cpu, uint64_t count) { counters_.ring_lost[cpu] += count; }
  // Ends a run of records: lets go of the map's generation, so that a reset need not wait for the next run.
  void end_batch() { session_.reset(); }

  // To be called when the map was turned on or off, so that the cookie cache follows at once.
  void follow_map();

  // A thread that is there at the start. It goes into the capture when an event first tells of it.
  void add_seen_task(TaskRecord record) { tasks_.add_seen(std::move(record)); }

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
  void set_limits(uint64_t cpu, uint64_t memory) { counters_.limit_cpu = cpu, counters_.limit_memory = memory; }

  // Names new addresses and writes what is pending, with the ledger as of now.
  Result<void> flush(const std::vector<KernelEventCounters>& kernel);
  // The last flush: also writes the refs of the current generation, and the end.
  Result<void> close(const std::vector<KernelEventCounters>& kernel);
  // Closes the capture, and goes on in another one, of the next generation: each stands by itself. `next` must outlive
  // the recorder, or its next rotate(). On an error (the map's: see StackMap::reset) nothing has changed. Errors of
  // writing are kept: see status().
  Result<void> rotate(CaptureWriter& next, const std::vector<KernelEventCounters>& kernel);

  // The first event that matched a trigger since the last call.
  struct Fired {
    size_t trigger = 0;  // index into Options::triggers
    uint64_t time_ns = 0;
  };
  std::optional<Fired> take_fired() { return std::exchange(fired_, std::nullopt); }

  // The first write error, if there was one. The events that met one are counted as write failures.
  const std::optional<Error>& status() const { return status_; }
  const RecorderCounters& counters() const { return counters_; }
  // Of the whole recording, whatever the captures that it is in.
  Ledger ledger(const std::vector<KernelEventCounters>& kernel) const;
  uint64_t stacks_stored() const { return stacks_stored_; }

 private:
  void take_task(const Sample& sample);
  void take_event(const Sample& sample, const StackRef& stack);
  StackRef take_stack(const RawStack& stack);
  StackMap::Session& session();
  const SampleTemplate* find_template(uint32_t id) override;
  void on_event(const Sample& sample, const SampleTemplate& from) override;
  void on_reject(Reject reason, uint64_t events) override;
  uint64_t string_id(std::string_view text);
  void need_names(std::span<const uint64_t> frames);
  void meet_task(uint32_t tid, uint32_t tgid, uint64_t time_ns);
  Result<void> name_addresses();
  Ledger capture_ledger(const std::vector<KernelEventCounters>& kernel) const;
  Result<void> write_refs(const Generation& generation);
  Result<void> keep_status(Result<void> written);
  RecorderCounters::PerEvent* event_counters(const Sample& sample);

  Options options_;
  StackMap& map_;
  CaptureWriter* writer_;
  RecordDecoder decoder_;
  GlueTrimmer trimmer_;
  std::optional<StackMap::Session> session_;
  RecorderCounters counters_;
  std::vector<RecorderCounters::PerEvent*> known_counters_;  // by kind
  std::vector<RecorderCounters::PerEvent*> any_counters_;    // by number - kFirstAnyEvent
  LiveTasks tasks_;
  uint32_t last_tid_ = UINT32_MAX;  // known; most records are of the thread before
  std::unordered_set<uint64_t> known_addresses_;
  std::vector<uint64_t> unnamed_;
  // Strings met lately, by their first bytes.
  struct StringEntry {
    std::string text;
    uint64_t id = 0;
    bool used = false;
  };
  std::vector<StringEntry> strings_;
  uint64_t stacks_stored_ = 0;
  Ledger before_capture_;  // the recording's ledger when this capture began
  std::optional<Fired> fired_;
  std::optional<Error> status_;
};

}  // namespace stackmap
