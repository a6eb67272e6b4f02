// SPDX-License-Identifier: Apache-2.0
#include "session/record_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "capture/losses.h"

namespace stackmap {

RecordCallbacks RecordFlow::callbacks_of(size_t reader) {
  RecordCallbacks callbacks;
  callbacks.record = [this, reader](uint32_t cpu, auto bytes) { recorder_->lane(reader).on_record(bytes, cpu); };
  callbacks.lost = [this, reader](uint32_t cpu, uint64_t count) { recorder_->lane(reader).on_lost(cpu, count); };
  return callbacks;
}

Result<void> RecordFlow::open_source(const RecordingOptions& options,
                                     const std::function<void(const std::string&)>& note) {
  STACKMAP_TRY_VALUE(limit, source_.max_frames());
  StackMapOptions map_options;
  map_options.capacity = options.map_capacity;
  map_options.max_depth = options.max_depth == 0 ? limit : std::min(options.max_depth, limit);
  STACKMAP_TRY_VALUE(map, StackMap::create(map_options));
  map_ = std::move(map);
  RecordSourceOptions source_options;
  source_options.events = options.events;
  source_options.frames = map_options.max_depth;
  source_options.narrowed = !options.processes.empty() || !options.threads.empty();
  source_options.cache_entries = options.cache_entries;
  source_options.ring_bytes = options.ring_bytes;
  source_options.readers = options.readers;
  source_options.callbacks_of = [this](size_t reader) { return callbacks_of(reader); };
  source_options.note = note;
  return source_.open(std::move(source_options));
}

Result<void> RecordFlow::open_recorder(Recorder::Options recorder, CaptureInfo info, Keeper::Options keep) {
  info.max_depth = map_->options().max_depth;
  STACKMAP_TRY_VALUE(keeper, Keeper::create(std::move(keep)));
  keeper_ = std::move(keeper);
  STACKMAP_TRY(keeper_->open(std::move(info), Recorder::event_types(recorder.any_events)));
  recorder.frames_asked = map_->options().max_depth;
  recorder.cache = source_.cookies();
  recorder.lanes = source_.readers();
  recorder_ = std::make_unique<Recorder>(std::move(recorder), *map_, keeper_->writer());
  return {};
}

void RecordFlow::start() {
  started_ns_ = monotonic_ns();
  keeper_->begin();
  source_.start();
}

Result<void> RecordFlow::read() {
  return source_.read([this](size_t reader) {
    RecorderLane& lane = recorder_->lane(reader);
    lane.end_batch();
    return recorder_->wants_attention(lane) || keeper_->is_full();
  });
}

Result<void> RecordFlow::status() const {
  return recorder_->status() ? Result<void>(*recorder_->status()) : Result<void>();
}

Result<void> RecordFlow::attend() {
  STACKMAP_TRY(source_.attend());
  recorder_->end_batch();
  recorder_->attended();
  STACKMAP_TRY(status());
  if (const CookieCache* cookies = source_.cookies(); cookies != nullptr && cookies->wants_round()) {
    STACKMAP_TRY(settle());
  }
  return rotate_if_full();
}

Result<void> RecordFlow::settle() {
  STACKMAP_TRY(source_.settle());
  recorder_->end_batch();
  return status();
}

Result<void> RecordFlow::flush() {
  STACKMAP_TRY(settle());
  STACKMAP_TRY_VALUE(kernel, source_.counters());
  STACKMAP_TRY(recorder_->flush(kernel));
  STACKMAP_TRY(source_.renew_rings(kernel));
  return keeper_->sync_if_due();
}

Result<void> RecordFlow::rotate_if_full() {
  if (keeper_->is_full()) {
    STACKMAP_TRY(rotate());
  }
  return {};
}

Result<RecordFlow::Rotated> RecordFlow::rotate() {
  STACKMAP_TRY_VALUE(kernel, source_.counters());
  STACKMAP_TRY_VALUE(next, keeper_->open_next());
  if (auto rotated = recorder_->rotate(*next, kernel); !rotated) {
    if (rotated.error().errnum == EBUSY) {
      return Rotated::kNotYet;
    }
    return std::move(rotated).error();
  }
  keeper_->begin_next();
  STACKMAP_TRY(status());
  keeper_->close_previous();
  return Rotated::kDone;
}

Result<void> RecordFlow::shed_memory() {
  STACKMAP_TRY(settle());
  return recorder_->shed_memory();
}

Progress RecordFlow::progress(const std::vector<KernelEventCounters>& kernel) const {
  const RecorderCounters counters = recorder_->counters();
  return {monotonic_ns() - started_ns_, counters.recorded(), recorder_->stacks_stored(),
          account_of(recorder_->ledger(kernel)).lost, keeper_->bytes()};
}

Result<Progress> RecordFlow::progress() const {
  STACKMAP_TRY_VALUE(kernel, source_.counters());
  return progress(kernel);
}

Result<Ledger> RecordFlow::ledger() const {
  STACKMAP_TRY_VALUE(kernel, source_.counters());
  return recorder_->ledger(kernel);
}

// No program runs any more. All that was sent is in the rings and the batches.
Result<RecordFlow::Closed> RecordFlow::close() {
  auto done = settle();
  STACKMAP_TRY_VALUE(kernel, source_.counters());
  if (done) {
    done = recorder_->close(kernel);
  }
  if (done) {
    done = keeper_->wait_for_disk();
  }
  if (!done) {
    const RecorderCounters counters = recorder_->counters();
    const uint64_t written = keeper_->events_written();
    return std::move(done).error().within(
        fmt::format("recording stopped: {} events are in the capture and can be read, {} more could not be written",
                    human_count(written), human_count(counters.recorded() - written + counters.write_failures)));
  }
  keeper_->close_last();
  return Closed{recorder_->ledger(kernel), progress(kernel)};
}

}  // namespace stackmap
