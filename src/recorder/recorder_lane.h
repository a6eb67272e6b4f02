// SPDX-License-Identifier: Apache-2.0
// One reader's part of a recorder: decodes the records of its CPUs' rings, gives their stacks cookies, and writes their
// events into a stream of the capture. A CPU's records all go to one lane, so its events keep their order.
//
// Not thread-safe, but beside other lanes: see RecorderTables.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/event_condition.h"
#include "record/record_decoder.h"
#include "recorder/loss_ledger.h"
#include "recorder/recorder_tables.h"
#include "stackmap/stack_map.h"
#include "symbolize/glue_trimmer.h"

namespace stackmap {

class RecorderLane {
 public:
  struct Options {
    std::vector<AnyEvent> any_events;  // these four as in Recorder::Options
    uint32_t frames_asked = 127;
    std::vector<EventPattern> patterns;
    CookieCache* cache = nullptr;
    size_t number = 0;  // of the lane, and of its stream
  };
  // The first event that matched a pattern since the last take_fired().
  struct Fired {
    size_t pattern = 0;  // index into the patterns
    uint64_t time_ns = 0;
  };

  // The map and the tables must outlive the lane.
  RecorderLane(Options options, StackMap& map, RecorderTables& tables);
  RecorderLane(const RecorderLane&) = delete;
  RecorderLane& operator=(const RecorderLane&) = delete;

  // One record of the ring of `cpu`. Write errors are kept: see RecorderTables::status().
  void on_record(std::span<const std::byte> bytes, uint32_t cpu);
  // perf says that `count` records were lost on `cpu`.
  void on_lost(uint32_t cpu, uint64_t count) { counters_.ring_lost[cpu] += count; }
  // Ends a run of records: lets go of the map's generation, so that a reset need not wait for the next run.
  void end_batch();

  const RecorderCounters& counters() const { return counters_; }
  const std::optional<Fired>& fired() const { return fired_; }
  std::optional<Fired> take_fired() { return std::exchange(fired_, std::nullopt); }

 private:
  struct BatchSink;  // what decode_batch() tells

  void take_batch(std::span<const std::byte> bytes, uint32_t cpu);
  void take_batched(const BatchEvent& batched, const CachedTemplate& from);
  void reject(Reject reason, uint64_t events) { counters_.rejects[static_cast<size_t>(reason)] += events; }
  void follow_epochs();
  void take_task(const Sample& sample);
  StackRef take_stack(const RawStack& stack);
  void take_event(const Sample& sample, const StackRef& stack);
  void add(const Event& event, uint32_t tgid, uint32_t subject_tid, std::string_view string,
           RecorderCounters::PerEvent& counters);
  void meet_task(uint32_t tid, uint32_t tgid, uint64_t time_ns);
  StackMap::Session& session();
  uint64_t string_id(std::string_view text);
  uint64_t string_id(const CachedTemplate& from);
  RecorderCounters::PerEvent* event_counters(const Sample& sample);

  Options options_;
  StackMap& map_;
  RecorderTables& tables_;
  RecordDecoder decoder_;
  GlueTrimmer trimmer_;
  std::optional<StackMap::Session> session_;
  RecorderCounters counters_;
  std::vector<RecorderCounters::PerEvent*> known_counters_;  // by kind
  std::vector<RecorderCounters::PerEvent*> any_counters_;    // by number - kFirstAnyEvent
  uint64_t cache_hits_ = 0;                                  // since the last end_batch()
  uint32_t threads_epoch_ = 0;                               // of met_
  uint32_t strings_epoch_ = 0;                               // of strings_
  std::array<uint32_t, 256> met_{};                          // threads that the capture knows, by their low bits
  // Strings met lately, by their first bytes.
  struct StringEntry {
    std::string text;
    uint64_t id = 0;
    bool used = false;
  };
  std::vector<StringEntry> strings_;
  std::optional<Fired> fired_;
};

}  // namespace stackmap
