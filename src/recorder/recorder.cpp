// SPDX-License-Identifier: Apache-2.0
#include "recorder/recorder.h"

#include <cerrno>
#include <chrono>

namespace stackmap {

std::vector<EventType> Recorder::event_types(const std::vector<AnyEvent>& any_events) {
  std::vector<EventType> types = known_event_types();
  uint16_t id = kFirstFreeEventType;
  for (const AnyEvent& event : any_events) {
    EventType& type = types.emplace_back(EventType{id++, event.category, event.name, {}});
    for (const AnyField& field : event.fields) {
      type.fields.push_back(field.type);
    }
  }
  return types;
}

Recorder::Recorder(Options options, StackMap& map, CaptureWriter& writer)
    : map_(map),
      cache_(options.cache),
      tables_(options.lanes, options.find_task, options.namer, options.cache, writer) {
  for (size_t number = 0; number < options.lanes; ++number) {
    RecorderLane::Options lane{options.any_events, options.frames_asked, options.patterns, options.cache, number};
    lanes_.push_back(std::make_unique<RecorderLane>(std::move(lane), map, tables_));
  }
  follow_map();
}

void Recorder::end_batch() {
  for (const auto& lane : lanes_) {
    lane->end_batch();
  }
}

void Recorder::follow_map() {
  end_batch();
  if (cache_ != nullptr) {
    const StackMap::Session session = map_.pin();
    cache_->set_generation(session.on() ? session.generation() : 0);
  }
}

RecorderCounters Recorder::counters() const {
  RecorderCounters sum;
  for (const auto& lane : lanes_) {
    sum += lane->counters();
  }
  sum.write_failures += flush_failures_;
  sum.limit_cpu = limit_cpu_;
  sum.limit_memory = limit_memory_;
  return sum;
}

std::optional<Recorder::Fired> Recorder::take_fired() {
  std::optional<Fired> first;
  for (const auto& lane : lanes_) {
    const auto fired = lane->take_fired();
    if (fired && (!first || fired->time_ns < first->time_ns)) {
      first = fired;
    }
  }
  return first;
}

Ledger Recorder::ledger(const std::vector<KernelEventCounters>& kernel) const {
  Ledger ledger = make_ledger(kernel, counters(), map_.totals());
  if (const auto stats = map_.stats()) {
    for_each_stat(*stats, [&](std::string_view key, uint64_t value) { ledger.set("map." + std::string(key), value); });
  }
  if (cache_ != nullptr) {
    const CookieCache::Counters cache = cache_->counters();
    ledger.set("cache.published", cache.published);
    ledger.set("cache.replaced", cache.replaced);
    ledger.set("cache.hits", cache.hits);
    ledger.set("cache.refused", cache.refused);
  }
  return ledger;
}

// What happened since this capture began: counters less what they were; the map's state as it is.
Ledger Recorder::capture_ledger(const std::vector<KernelEventCounters>& kernel) const {
  Ledger since;
  const Ledger all = ledger(kernel);
  for (const auto& [name, value] : all.entries()) {
    since.set(name, name.starts_with("map.") ? value : value - before_capture_.get(name));
  }
  return since;
}

// A failed write is counted, and the first one remembered.
Result<void> Recorder::keep_status(Result<void> written) {
  if (!written) {
    ++flush_failures_;
    tables_.fail(written.error());
  }
  return written;
}

Result<void> Recorder::flush(const std::vector<KernelEventCounters>& kernel) {
  end_batch();
  const auto named = tables_.name_addresses();
  const Ledger now = capture_ledger(kernel);
  STACKMAP_TRY(keep_status(tables_.writer().flush(&now)));
  return named;
}

Result<void> Recorder::write_refs(const Generation& generation) {
  std::vector<std::pair<uint32_t, uint64_t>> refs;
  generation.for_each([&](const auto& record) { refs.emplace_back(record.slot, record.ref); });
  return keep_status(tables_.writer().write_refs(generation.number(), refs));
}

Result<void> Recorder::reset_map() {
  end_batch();
  STACKMAP_TRY_VALUE(ended, map_.reset());
  follow_map();
  if (ended == nullptr) {
    return {};
  }
  // The stacks of a generation go before its refs.
  STACKMAP_TRY(tables_.name_addresses());
  STACKMAP_TRY(keep_status(tables_.writer().flush(nullptr)));
  return write_refs(*ended);
}

Result<void> Recorder::shed_memory() {
  STACKMAP_TRY(reset_map());
  STACKMAP_TRY(tables_.name_addresses());
  tables_.forget_addresses();
  return {};
}

Result<std::weak_ptr<const Generation>> Recorder::free_map() {
  end_batch();
  auto generation = map_.snapshot();
  if (generation != nullptr && !map_.is_on()) {
    STACKMAP_TRY(tables_.name_addresses());
    STACKMAP_TRY(keep_status(tables_.writer().flush(nullptr)));
    STACKMAP_TRY(write_refs(*generation));
  }
  std::weak_ptr<const Generation> last = generation;
  generation.reset();
  auto freed = map_.free({{}, std::chrono::steady_clock::now()});
  // The map is dropped also when it still has readers.
  if (!freed && freed.error().errnum != ETIMEDOUT) {
    return std::move(freed).error();
  }
  follow_map();
  return last;
}

Result<void> Recorder::close(const std::vector<KernelEventCounters>& kernel) {
  STACKMAP_TRY(flush(kernel));
  if (const auto generation = map_.snapshot()) {
    STACKMAP_TRY(write_refs(*generation));
  }
  return keep_status(tables_.writer().close(capture_ledger(kernel)));
}

Result<void> Recorder::rotate(CaptureWriter& next, const std::vector<KernelEventCounters>& kernel) {
  end_batch();
  const Ledger all = ledger(kernel);
  const Ledger last = capture_ledger(kernel);
  STACKMAP_TRY_VALUE(ended, map_.reset());
  follow_map();
  // From here on the old capture is left behind, whatever it says.
  if (auto named = tables_.name_addresses(); !named) {
    tables_.fail(std::move(named).error());
  }
  auto closed = keep_status(tables_.writer().flush(nullptr));
  if (closed && ended != nullptr) {
    closed = write_refs(*ended);
  }
  if (closed) {
    (void)keep_status(tables_.writer().close(last));
  }
  before_capture_ = all;
  tables_.start_capture(next);
  return {};
}

}  // namespace stackmap
