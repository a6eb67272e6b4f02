// SPDX-License-Identifier: Apache-2.0
#include "recorder/recorder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace stackmap {

namespace {

constexpr size_t kStringEntries = 256;

static_assert(static_cast<int>(SampleKind::kKmemCacheAllocNode) == kKmemCacheAllocNode &&
                  static_cast<int>(SampleKind::kSchedSwitch) == kSchedSwitch &&
                  static_cast<int>(SampleKind::kSchedProcessExit) == kSchedProcessExit,
              "a sample's kind is also the number of its event type");

uint16_t event_type_of(const Sample& sample) {
  if (sample.kind == SampleKind::kAny) {
    return static_cast<uint16_t>(kFirstFreeEventType + (sample.any_event - kFirstAnyEvent));
  }
  return static_cast<uint16_t>(sample.kind);
}

TaskChange change_of(SampleKind kind) {
  switch (kind) {
    case SampleKind::kSchedProcessFork:
      return TaskChange::kFork;
    case SampleKind::kSchedProcessExec:
      return TaskChange::kExec;
    case SampleKind::kSchedProcessExit:
      return TaskChange::kExit;
    default:
      return TaskChange::kRename;
  }
}

}  // namespace

std::vector<EventType> Recorder::event_types(const std::vector<std::string>& any_events) {
  std::vector<EventType> types = known_event_types();
  uint16_t id = kFirstFreeEventType;
  for (const std::string& name : any_events) {
    const size_t colon = name.find(':');
    types.push_back({id++, name.substr(0, colon), name.substr(colon + 1), {}});
  }
  return types;
}

Recorder::Recorder(Options options, StackMap& map, CaptureWriter& writer)
    : options_(std::move(options)),
      map_(map),
      writer_(&writer),
      trimmer_(options_.namer),
      tasks_(options_.find_task),
      strings_(kStringEntries) {
  known_counters_.resize(kFirstAnyEvent);
  for (const KindInfo& kind : kinds()) {
    known_counters_[static_cast<size_t>(kind.kind)] =
        &counters_.events[std::string(kind.category) + ":" + std::string(kind.name)];
  }
  for (const std::string& name : options_.any_events) {
    any_counters_.push_back(&counters_.events[name]);
  }
}

RecorderCounters::PerEvent* Recorder::event_counters(const Sample& sample) {
  if (sample.kind != SampleKind::kAny) {
    return known_counters_[static_cast<size_t>(sample.kind)];
  }
  const size_t index = sample.any_event - kFirstAnyEvent;
  return index < any_counters_.size() ? any_counters_[index] : nullptr;
}

void Recorder::on_record(std::span<const std::byte> bytes, uint32_t cpu) {
  counters_.record_bytes += bytes.size();
  if (RecordDecoder::is_batch(bytes)) {
    decoder_.decode_batch(bytes, cpu, *this);
    return;
  }
  Sample sample;
  auto reject = decoder_.decode(bytes, cpu, sample);
  RecorderCounters::PerEvent* event = reject ? nullptr : event_counters(sample);
  if (!reject && event == nullptr) {
    reject = Reject::kUnknownKind;
  }
  if (reject) {
    on_reject(*reject, 1);
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
      options_.cache->offer(*sample_template, stack.cookie);
    }
  }
}

void Recorder::on_reject(Reject reason, uint64_t events) {
  counters_.rejects[static_cast<size_t>(reason)] += events;
}

const SampleTemplate* Recorder::find_template(uint32_t id) {
  return options_.cache != nullptr ? options_.cache->find(id) : nullptr;
}

// An event of a batch. Its cookie holds while its generation does; otherwise its stack is like that of any record.
void Recorder::on_event(const Sample& sample, const SampleTemplate& from) {
  if (event_counters(sample) == nullptr) {
    on_reject(Reject::kUnknownKind, 1);
    return;
  }
  const Cookie cookie = static_cast<const CachedTemplate&>(from).cookie;
  if (!session().hand_out_again(cookie)) {
    take_event(sample, take_stack(sample.kernel_stack));
    return;
  }
  if (from.frames.size() >= options_.frames_asked) {
    ++counters_.stacks_truncated;
  }
  StackRef stack;
  stack.state = StackRef::State::kCookie;
  stack.cookie = cookie;
  take_event(sample, stack);
}

void Recorder::take_task(const Sample& sample) {
  TaskRecord record;
  record.time_ns = sample.time_ns;
  record.change = change_of(sample.kind);
  record.tid = sample.task.tid;
  record.tgid = sample.task.tgid;
  record.ptgid = sample.kind == SampleKind::kSchedProcessFork ? sample.task.old_tid : 0;
  record.comm = sample.task.comm;
  tasks_.take(record);
  writer_->add_task(std::move(record));
}

// A thread that the capture has no record of: it was there before it began, or its fork was lost.
void Recorder::meet_task(uint32_t tid, uint32_t tgid, uint64_t time_ns) {
  if (auto record = tasks_.meet(tid, tgid, time_ns)) {
    writer_->add_task(std::move(*record));
  }
}

void Recorder::need_names(std::span<const uint64_t> frames) {
  for (const uint64_t frame : frames) {
    if (known_addresses_.insert(frame).second) {
      unnamed_.push_back(frame);
    }
  }
}

StackMap::Session& Recorder::session() {
  if (!session_) {
    session_.emplace(map_.pin());
    if (options_.cache != nullptr) {
      options_.cache->set_generation(session_->on() ? session_->generation() : 0);
    }
  }
  return *session_;
}

void Recorder::follow_map() {
  end_batch();
  (void)session();
  end_batch();
}

StackRef Recorder::take_stack(const RawStack& stack) {
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
  const Interned interned = session().intern(frames);
  if (!interned.stored()) {
    ref.state = StackRef::State::kFallback;
    ref.frames = frames;
    need_names(frames);
    return ref;
  }
  ref.state = StackRef::State::kCookie;
  ref.cookie = interned.cookie;
  if (interned.is_new) {
    ++stacks_stored_;
    writer_->add_stack(interned.cookie, frames);
    need_names(frames);
  }
  return ref;
}

uint64_t Recorder::string_id(std::string_view text) {
  if (text.size() >= kMaxSampleString) {
    ++counters_.strings_truncated;
  }
  uint64_t key = text.size();
  std::memcpy(&key, text.data(), std::min<size_t>(text.size(), 8));
  StringEntry& entry = strings_[(key * 0x9e3779b97f4a7c15U >> 56) % kStringEntries];
  if (!entry.used || entry.text != text) {
    entry.id = writer_->string_id(text);
    entry.text = text;
    entry.used = true;
  }
  return entry.id;
}

void Recorder::take_event(const Sample& sample, const StackRef& stack) {
  if (sample.tid != last_tid_) {
    last_tid_ = sample.tid;
    meet_task(sample.tid, sample.tgid, sample.time_ns);
  }
  if (sample.subject_tid != 0) {
    meet_task(sample.subject_tid, 0, sample.time_ns);
  }
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
  if (auto added = writer_->add_event(event); !added) {
    ++counters_.write_failures;
    if (!status_) {
      status_ = std::move(added).error();
    }
    return;
  }
  ++event_counters(sample)->recorded;
  for (size_t i = 0; i < options_.triggers.size() && !fired_; ++i) {
    if (options_.triggers[i].matches(event, sample.string)) {
      fired_ = {i, event.time_ns};
    }
  }
}

Result<void> Recorder::name_addresses() {
  if (options_.namer != nullptr && !unnamed_.empty()) {
    STACKMAP_TRY_VALUE(symbols, options_.namer->name(unnamed_, AddressKind::kReturn));
    for (size_t i = 0; i < unnamed_.size(); ++i) {
      writer_->add_symbol(unnamed_[i], symbols[i]);
    }
  }
  unnamed_.clear();
  return {};
}

Ledger Recorder::ledger(const std::vector<KernelEventCounters>& kernel) const {
  Ledger ledger = make_ledger(kernel, counters_, map_.totals().outcomes);
  if (const auto stats = map_.stats()) {
    ledger.set("map.generation", stats->generation);
    ledger.set("map.entries", stats->entries);
    ledger.set("map.capacity", stats->capacity);
    ledger.set("map.successes", stats->successes());
    ledger.set("map.fallbacks", stats->fallbacks());
    ledger.set("map.max_depth", stats->max_depth);
    ledger.set("map.arena_bytes", stats->arena_bytes);
    ledger.set("map.arena_limit", stats->arena_limit);
    ledger.set("map.table_bytes", stats->table_bytes);
  }
  if (options_.cache != nullptr) {
    const CookieCache::Counters& cache = options_.cache->counters();
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
    ++counters_.write_failures;
    if (!status_) {
      status_ = written.error();
    }
  }
  return written;
}

Result<void> Recorder::flush(const std::vector<KernelEventCounters>& kernel) {
  end_batch();
  const auto named = name_addresses();
  const Ledger now = capture_ledger(kernel);
  STACKMAP_TRY(keep_status(writer_->flush(&now)));
  return named;
}

Result<void> Recorder::write_refs(const Generation& generation) {
  std::vector<std::pair<uint32_t, uint64_t>> refs;
  generation.for_each([&](const auto& record) { refs.emplace_back(record.slot, record.ref); });
  return keep_status(writer_->write_refs(generation.number(), refs));
}

Result<void> Recorder::reset_map() {
  end_batch();
  STACKMAP_TRY_VALUE(ended, map_.reset());
  follow_map();
  if (ended == nullptr) {
    return {};
  }
  // The stacks of a generation go before its refs.
  STACKMAP_TRY(name_addresses());
  STACKMAP_TRY(keep_status(writer_->flush(nullptr)));
  return write_refs(*ended);
}

Result<void> Recorder::shed_memory() {
  STACKMAP_TRY(reset_map());
  STACKMAP_TRY(name_addresses());
  known_addresses_ = {};
  return {};
}

Result<std::weak_ptr<const Generation>> Recorder::free_map() {
  end_batch();
  auto generation = map_.snapshot();
  if (generation != nullptr && !map_.is_on()) {
    STACKMAP_TRY(name_addresses());
    STACKMAP_TRY(keep_status(writer_->flush(nullptr)));
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
  return keep_status(writer_->close(capture_ledger(kernel)));
}

Result<void> Recorder::rotate(CaptureWriter& next, const std::vector<KernelEventCounters>& kernel) {
  end_batch();
  const Ledger all = ledger(kernel);
  const Ledger last = capture_ledger(kernel);
  STACKMAP_TRY_VALUE(ended, map_.reset());
  follow_map();
  // From here on the old capture is left behind, whatever it says.
  if (auto named = name_addresses(); !named && !status_) {
    status_ = std::move(named).error();
  }
  auto closed = keep_status(writer_->flush(nullptr));
  if (closed && ended != nullptr) {
    closed = write_refs(*ended);
  }
  if (closed) {
    (void)keep_status(writer_->close(last));
  }
  before_capture_ = all;
  writer_ = &next;
  tasks_.start_capture();
  last_tid_ = UINT32_MAX;
  known_addresses_.clear();
  unnamed_.clear();
  strings_.assign(kStringEntries, {});
  return {};
}

}  // namespace stackmap
