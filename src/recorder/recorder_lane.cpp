// SPDX-License-Identifier: Apache-2.0
#include "recorder/recorder_lane.h"

#include <algorithm>
#include <cstring>

#include "record/batch_reader.h"

namespace stackmap {

namespace {

constexpr size_t kStringEntries = 256;

uint16_t event_type_of(const Sample& sample) {
  if (sample.any_event != 0) {
    return static_cast<uint16_t>(kFirstFreeEventType + (sample.any_event - kFirstAnyEvent));
  }
  return sample.kind;
}

TaskChange change_of(KnownEvent kind) {
  switch (kind) {
    case kSchedProcessFork:
      return TaskChange::kFork;
    case kSchedProcessExec:
      return TaskChange::kExec;
    case kSchedProcessExit:
      return TaskChange::kExit;
    default:
      return TaskChange::kRename;
  }
}

}  // namespace

RecorderLane::RecorderLane(Options options, StackMap& map, RecorderTables& tables)
    : options_(std::move(options)),
      map_(map),
      tables_(tables),
      decoder_(options_.any_events),
      trimmer_(tables.namer()),
      known_counters_(kFirstAnyEvent) {
  for (const KindInfo& kind : kinds()) {
    known_counters_[kind.kind] = &counters_.events[std::string(kind.category) + ":" + std::string(kind.name)];
  }
  for (const AnyEvent& event : options_.any_events) {
    any_counters_.push_back(&counters_.events[event.full_name()]);
  }
}

RecorderCounters::PerEvent* RecorderLane::event_counters(const Sample& sample) {
  if (sample.any_event == 0) {
    return known_counters_[sample.kind];
  }
  const size_t index = sample.any_event - kFirstAnyEvent;
  return index < any_counters_.size() ? any_counters_[index] : nullptr;
}

void RecorderLane::follow_epochs() {
  if (threads_epoch_ != tables_.threads_epoch()) {
    threads_epoch_ = tables_.threads_epoch();
    met_.fill(0);
  }
  if (strings_epoch_ != tables_.strings_epoch()) {
    strings_epoch_ = tables_.strings_epoch();
    strings_.assign(kStringEntries, {});
  }
}

void RecorderLane::on_record(std::span<const std::byte> bytes, uint32_t cpu) {
  follow_epochs();
  counters_.record_bytes += bytes.size();
  if (is_batch(bytes)) {
    take_batch(bytes, cpu);
    return;
  }
  Sample sample;
  if (const auto reason = decoder_.decode(bytes, cpu, sample)) {
    reject(*reason, 1);
    return;
  }
  RecorderCounters::PerEvent* const event = event_counters(sample);
  if (event == nullptr) {
    reject(Reject::kUnknownKind, 1);
    return;
  }
  if (sample.task.tid != 0) {
    take_task(sample);
  }
  if (sample.task_only) {
    ++event->task_records;
    return;
  }
  const StackRef stack = take_stack(sample.kernel_stack);
  take_event(sample, stack);
  if (options_.cache != nullptr && stack.state == StackRef::State::kCookie) {
    if (const auto sample_template = template_of(bytes, sample)) {
      tables_.offer(*sample_template, stack.cookie);
    }
  }
}

struct RecorderLane::BatchSink {
  RecorderLane& lane;
  void on_event(const BatchEvent& event, const CachedTemplate& from) { lane.take_batched(event, from); }
  void on_reject(Reject reason, uint64_t events) { lane.reject(reason, events); }
};

void RecorderLane::take_batch(std::span<const std::byte> bytes, uint32_t cpu) {
  const auto find = [this](uint32_t id) {
    const CachedTemplate* const found = options_.cache != nullptr ? options_.cache->find(id) : nullptr;
    cache_hits_ += found != nullptr ? 1 : 0;
    return found;
  };
  BatchSink sink{*this};
  decode_batch(bytes, cpu, find, sink);
}

// Its cookie holds while its generation does; otherwise its stack is like that of any record.
void RecorderLane::take_batched(const BatchEvent& batched, const CachedTemplate& from) {
  const Sample& sample = from.decoded;
  RecorderCounters::PerEvent* counters = event_counters(sample);
  if (counters == nullptr) {
    reject(Reject::kUnknownKind, 1);
    return;
  }
  if (!session().hand_out_again(from.cookie)) {
    const Sample whole = RecordDecoder::sample_of(batched, from);
    take_event(whole, take_stack(whole.kernel_stack));
    return;
  }
  if (from.frames.size() >= options_.frames_asked) {
    ++counters_.stacks_truncated;
  }
  std::array<uint64_t, Sample::kMaxFields> fields = sample.fields;
  const RecordLayout& layout = record_layout(sample.kind);
  layout.read_dynamic(batched.word, fields);
  if (sample.string_field >= 0) {
    fields[static_cast<size_t>(sample.string_field)] = string_id(from);
  }
  Event event;
  event.time_ns = batched.time_ns;
  event.cpu = batched.cpu;
  event.tid = batched.tid;
  event.type = event_type_of(sample);
  event.stack.state = StackRef::State::kCookie;
  event.stack.cookie = from.cookie;
  event.fields = std::span(fields).first(sample.field_count);
  add(event, batched.tgid, layout.subject(fields), sample.string, *counters);
}

void RecorderLane::take_task(const Sample& sample) {
  TaskRecord record;
  record.time_ns = sample.time_ns;
  record.change = change_of(sample.kind);
  record.tid = sample.task.tid;
  record.tgid = sample.task.tgid;
  record.ptgid = sample.kind == kSchedProcessFork ? sample.task.old_tid : 0;
  record.comm = sample.task.comm;
  tables_.take_task(std::move(record));
}

void RecorderLane::meet_task(uint32_t tid, uint32_t tgid, uint64_t time_ns) {
  uint32_t& met = met_[tid % met_.size()];
  if (met != tid) {
    met = tid;
    tables_.meet_task(tid, tgid, time_ns);
  }
}

StackMap::Session& RecorderLane::session() {
  if (!session_) {
    session_.emplace(map_.pin());
  }
  return *session_;
}

void RecorderLane::end_batch() {
  session_.reset();
  if (cache_hits_ != 0) {
    options_.cache->add_hits(std::exchange(cache_hits_, 0));
  }
}

StackRef RecorderLane::take_stack(const RawStack& stack) {
  StackRef ref;
  if (stack.errnum != 0) {
    ++counters_.stack_errors[stack.errnum];
    ref.state = StackRef::State::kError;
    ref.errnum = stack.errnum;
    return ref;
  }
  if (stack.frames.size() >= options_.frames_asked) {
    ++counters_.stacks_truncated;
  }
  const auto frames = trimmer_.trim(stack.frames);
  tables_.begin_store(options_.number);
  const Interned interned = session().intern(frames);
  if (interned.is_new) {
    tables_.add_stack(interned.cookie, frames);
  }
  tables_.end_store(options_.number);
  if (!interned.stored()) {
    ref.state = StackRef::State::kFallback;
    ref.frames = frames;
    tables_.need_names(frames);
    return ref;
  }
  ref.state = StackRef::State::kCookie;
  ref.cookie = interned.cookie;
  return ref;
}

uint64_t RecorderLane::string_id(std::string_view text) {
  if (text.size() >= kMaxSampleString) {
    ++counters_.strings_truncated;
  }
  uint64_t key = text.size();
  std::memcpy(&key, text.data(), std::min<size_t>(text.size(), 8));
  StringEntry& entry = strings_[(key * 0x9e3779b97f4a7c15U >> 56) % kStringEntries];
  if (!entry.used || entry.text != text) {
    entry.id = tables_.string_id(text);
    entry.text = text;
    entry.used = true;
  }
  return entry.id;
}

// The template remembers it, with the epoch in the upper half.
uint64_t RecorderLane::string_id(const CachedTemplate& from) {
  const uint64_t known = from.string_id.load(std::memory_order_relaxed);
  if (known >> 32 == strings_epoch_ && from.decoded.string.size() < kMaxSampleString) {
    return known & UINT32_MAX;
  }
  const uint64_t id = string_id(from.decoded.string);
  if (id <= UINT32_MAX) {
    from.string_id.store(uint64_t{strings_epoch_} << 32 | id, std::memory_order_relaxed);
  }
  return id;
}

void RecorderLane::take_event(const Sample& sample, const StackRef& stack) {
  Event event;
  event.time_ns = sample.time_ns;
  event.cpu = sample.cpu;
  event.tid = sample.tid;
  event.type = event_type_of(sample);
  event.stack = stack;
  std::array<uint64_t, Sample::kMaxFields> fields = sample.fields;
  if (sample.string_field >= 0) {
    fields[static_cast<size_t>(sample.string_field)] = string_id(sample.string);
  }
  event.fields = std::span(fields).first(sample.field_count);
  add(event, sample.tgid, sample.subject_tid, sample.string, *event_counters(sample));
}

void RecorderLane::add(const Event& event, uint32_t tgid, uint32_t subject_tid, std::string_view string,
                       RecorderCounters::PerEvent& counters) {
  meet_task(event.tid, tgid, event.time_ns);
  meet_task(subject_tid, 0, event.time_ns);
  if (auto added = tables_.writer().add_event(event, options_.number); !added) {
    ++counters_.write_failures;
    ++counters_.unwritten;
    tables_.fail(std::move(added).error());
    return;
  }
  ++counters.recorded;
  for (size_t i = 0; i < options_.patterns.size() && !fired_; ++i) {
    if (options_.patterns[i].matches(event, string)) {
      fired_ = {i, event.time_ns};
    }
  }
}

}  // namespace stackmap
