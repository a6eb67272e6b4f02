// SPDX-License-Identifier: Apache-2.0
#include "collector/recording.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <random>

#include "base/clock.h"
#include "base/text.h"
#include "base/usage.h"
#include "collector/bpf_log.h"
#include "collector/bpf_namer.h"
#include "process/host.h"
#include "process/task_table.h"

namespace stackmap {

namespace {

constexpr uint64_t kProgressNs = 250000000;
constexpr ino_t kFirstPidNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO of the kernel

// BPF programs see the numbers of the first PID namespace, this process and the user those of their own.
Result<void> refuse_pid_namespace() {
  struct stat st {};
  if (::stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != kFirstPidNamespace) {
    return make_error(ErrorKind::kUnsupported, "cannot record inside a PID namespace",
                      "run it on the host, or in a container that shares the host's (--pid=host)");
  }
  return {};
}

// A ring of half a megabyte is full within milliseconds of a busy CPU: who drains it must not wait in line for a
// processor. The command has been started before and keeps its own priority.
void run_ahead_of_others() {
  (void)::setpriority(PRIO_PROCESS, 0, -20);  // without it recording works, and may lose more
}

uint64_t random_number() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

uint64_t lost_events(const std::vector<KernelEventCounters>& kernel, const RecorderCounters& recorder) {
  uint64_t lost = recorder.rejected() + recorder.write_failures;
  for (const KernelEventCounters& event : kernel) {
    const ProgramCounters& c = event.counters;
    lost += c.ring_full + c.output_error + c.scratch_busy + c.throttled + event.recursion_misses;
  }
  return lost;
}

Result<void> Recording::make_namer() {
  auto kernel = BpfNamer::create();
  if (kernel) {
    namer_ = std::move(kernel).value();
    return {};
  }
  if (kernel.error().kind == ErrorKind::kPrivilege) {
    kernel.error().remedy = "run as root, outside of a restricted container";
    return std::move(kernel).error();
  }
  hooks_.note(kernel.error().message() + "; using /proc/kallsyms");
  if (hooks_.fallback_namer) {
    STACKMAP_TRY_VALUE(namer, hooks_.fallback_namer());
    namer_ = std::move(namer);
  }
  return {};
}

Result<void> Recording::load_programs(uint32_t frames) {
  BpfOptions bpf_options;
  bpf_options.events = options_.events;
  bpf_options.frames = frames;
  bpf_options.narrowed = !options_.processes.empty() || !options_.threads.empty();
  bpf_options.cache_entries = options_.cache_entries;
  auto loaded = BpfSession::load(bpf_options);
  if (!loaded && bpf_options.cache_entries != 0) {
    // The cache asks more of the kernel: on arm64 atomic instructions with a result, which BPF has there from 5.18 on.
    bpf_options.cache_entries = 0;
    loaded = BpfSession::load(bpf_options);
    if (loaded) {
      hooks_.note("this kernel does not take the programs with the cookie cache; going on without it");
    }
  }
  STACKMAP_TRY_VALUE(bpf, std::move(loaded));
  bpf_ = std::move(bpf);
  if (bpf_options.cache_entries != 0) {
    STACKMAP_TRY_VALUE(cache_map, bpf_->open_cache());
    cache_ = std::make_unique<KernelCache>(std::move(cache_map));
  }
  return {};
}

Result<void> Recording::make_map_and_programs() {
  STACKMAP_TRY_VALUE(limit, kernel_stack_limit());
  const uint32_t frames = options_.max_depth == 0 ? limit : std::min(options_.max_depth, limit);
  StackMapOptions map_options;
  map_options.capacity = options_.map_capacity;
  map_options.max_depth = frames;
  STACKMAP_TRY_VALUE(map, StackMap::create(map_options));
  map_ = std::move(map);
  STACKMAP_TRY(load_programs(frames));
  return open_rings();
}

Result<void> Recording::open_rings() {
  STACKMAP_TRY_VALUE(cpus, RingReaders::online_cpus());
  const size_t readers = RingReaders::count_for(options_.readers, cpus.size());
  if (readers < options_.readers) {
    hooks_.note(
        fmt::format("{} threads read the rings, not {}: there are {} CPUs", readers, options_.readers, cpus.size()));
  }
  const auto callbacks_of = [this](size_t reader) {
    PerfRing::Callbacks callbacks;
    callbacks.record = [this, reader](uint32_t cpu, auto bytes) { recorder_->lane(reader).on_record(bytes, cpu); };
    callbacks.lost = [this, reader](uint32_t cpu, uint64_t count) { recorder_->lane(reader).on_lost(cpu, count); };
    return callbacks;
  };
  STACKMAP_TRY_VALUE(rings, RingReaders::create(bpf_->ring_map_fd(), options_.ring_bytes, cpus, readers, callbacks_of));
  readers_ = std::move(rings);
  return {};
}

Result<void> Recording::prepare() {
  capture_bpf_log(options_.verbose);
  STACKMAP_TRY(refuse_pid_namespace());
  STACKMAP_TRY(loop_.open());
  STACKMAP_TRY(loop_.on_signals({SIGINT, SIGTERM, SIGHUP, SIGUSR2}, [this](int signal) { return on_signal(signal); }));
  STACKMAP_TRY_VALUE(tracefs, TraceFs::open());
  tracefs_.emplace(std::move(tracefs));
  STACKMAP_TRY(make_namer());
  STACKMAP_TRY(make_map_and_programs());
  if (!options_.control.empty()) {
    STACKMAP_TRY_VALUE(socket, ControlSocket::listen(options_.control));
    STACKMAP_TRY_VALUE(control, ControlServer::create(std::move(socket), *this));
    control_ = std::move(control);
  }
  STACKMAP_TRY(open_recorder());
  if (!options_.command.empty()) {
    STACKMAP_TRY_VALUE(command, Command::prepare(options_.command));
    command_.emplace(std::move(command));
  }
  return {};
}

Result<void> Recording::open_recorder() {
  STACKMAP_TRY_VALUE(host, read_host_info());
  info_.host = std::move(host);
  info_.tool = options_.tool;
  info_.command = options_.command_line;
  info_.symbol_source = namer_ ? namer_->source() : "nobody";
  info_.map_capacity = options_.map_capacity;
  info_.max_depth = map_->options().max_depth;
  info_.ring_bytes = options_.ring_bytes;

  Recorder::Options recorder_options;
  recorder_options.any_events = options_.events.any;
  types_ = Recorder::event_types(recorder_options.any_events);
  for (const std::string& text : options_.triggers) {
    STACKMAP_TRY_VALUE(trigger, Trigger::parse(text, types_));
    const bool known = trigger.event_type() < kFirstFreeEventType;
    if (trigger.on() == Trigger::On::kEvent && known &&
        std::ranges::find(options_.events.kinds, static_cast<KnownEvent>(trigger.event_type())) ==
            options_.events.kinds.end()) {
      return make_error(ErrorKind::kUsage, "trigger '" + text + "': that event is not recorded", "name it with -e too");
    }
    triggers_.push_back(std::move(trigger));
  }
  STACKMAP_TRY(open_store());
  recorder_options.frames_asked = info_.max_depth;
  recorder_options.namer = namer_.get();
  recorder_options.cache = cache_ ? &cache_->cookies() : nullptr;
  recorder_options.triggers = triggers_;
  recorder_options.lanes = readers_->count();
  recorder_options.find_task = [](uint32_t tid, uint64_t time_ns) { return read_proc_task(tid, time_ns); };
  info_.session = store_ != nullptr ? random_number() : 0;
  STACKMAP_TRY_VALUE(writer, open_capture());
  writer_ = std::move(writer);
  recorder_ = std::make_unique<Recorder>(std::move(recorder_options), *map_, *writer_);
  return {};
}

Result<void> Recording::scan_tasks() {
  STACKMAP_TRY_VALUE(tasks, read_proc_tasks(monotonic_ns()));
  for (TaskRecord& task : tasks) {
    recorder_->add_seen_task(std::move(task));
  }
  return {};
}

// Forks are followed by now and add their children; here every thread that is there, until none is new.
Result<void> Recording::follow_targets() {
  for (const uint32_t process : options_.processes) {
    size_t known = 0;
    for (;;) {
      auto threads = read_proc_threads(process);
      if (!threads) {
        return std::move(threads).error().within(fmt::format("cannot record process {}", process));
      }
      for (const uint32_t thread : *threads) {
        STACKMAP_TRY(bpf_->add_target(thread, true));
      }
      if (threads->size() <= known) {
        break;
      }
      known = threads->size();
    }
  }
  for (const uint32_t thread : options_.threads) {
    if (auto found = read_proc_task(thread, 0); !found) {
      return std::move(found).error().within(fmt::format("cannot record thread {}", thread));
    }
    STACKMAP_TRY(bpf_->add_target(thread, false));
  }
  return {};
}

Result<void> Recording::watch_all() {
  STACKMAP_TRY(loop_.watch(readers_->fd(), [this]() -> Result<void> {
    STACKMAP_TRY(readers_->alone() ? drain() : readers_->take_attention());
    return after_drain();
  }));
  if (control_) {
    STACKMAP_TRY(loop_.watch(control_->epoll_fd(), [this]() -> Result<void> {
      control_->serve();
      return recorder_->status() ? Result<void>(*recorder_->status()) : Result<void>();
    }));
  }
  if (snapshots_) {
    STACKMAP_TRY(loop_.watch(snapshots_->done_fd(), [this] { return end_snapshot(); }));
  }
  STACKMAP_TRY(loop_.every(options_.flush_ns, [this]() -> Result<void> {
    STACKMAP_TRY(flush());
    STACKMAP_TRY(rotate_if_full());
    return check_triggers();
  }));
  if (hooks_.progress) {
    STACKMAP_TRY(loop_.every(kProgressNs, [this]() -> Result<void> {
      STACKMAP_TRY_VALUE(kernel, bpf_->counters());
      hooks_.progress(progress(kernel));
      return {};
    }));
  }
  if (limits_.any()) {
    STACKMAP_TRY(loop_.every(SelfLimits::kTickNs, [this] { return keep_limits(); }));
  }
  if (options_.duration_ns != 0) {
    STACKMAP_TRY(loop_.once(options_.duration_ns, [this]() -> Result<void> {
      loop_.stop();
      return {};
    }));
  }
  return {};
}

Result<void> Recording::start() {
  run_ahead_of_others();
  limits_ = SelfLimits(options_.max_cpu, options_.max_memory);
  STACKMAP_TRY_VALUE(resident, resident_memory());
  if (options_.max_memory != 0 && resident > options_.max_memory) {
    return make_error(ErrorKind::kUsage,
                      fmt::format("recording takes {} to begin with, more than --max-memory", human_size(resident)));
  }
  STACKMAP_TRY(bpf_->attach(*tracefs_));
  bpf_->start_tasks();
  STACKMAP_TRY(scan_tasks());
  STACKMAP_TRY(follow_targets());
  STACKMAP_TRY(watch_all());
  started_ns_ = monotonic_ns();
  capture_began_ns_ = started_ns_;
  bpf_->start_events();
  if (hooks_.started) {
    hooks_.started();
  }
  hooks_.note(fmt::format("recording {} events; the stack map holds {} stacks of up to {} frames in at most {}",
                          options_.events.kinds.size() + options_.events.any.size(), options_.map_capacity,
                          map_->options().max_depth, human_size(map_->memory_limit())));
  if (command_) {
    STACKMAP_TRY(loop_.watch(command_->pidfd(), [this]() -> Result<void> {
      loop_.stop();
      return {};
    }));
    STACKMAP_TRY(command_->go());
  }
  return {};
}

// The readers' threads read beside the loop, and stand still while it does anything.
Result<void> Recording::loop() {
  STACKMAP_TRY(readers_->start([this](size_t reader) {
    RecorderLane& lane = recorder_->lane(reader);
    lane.end_batch();
    return recorder_->wants_attention(lane) || capture_is_full();
  }));
  loop_.call_through([this](const EventLoop::Handler& handler) {
    const RingReaders::Pause pause(*readers_);
    return handler();
  });
  return loop_.run();
}

// What a reader cannot do.
Result<void> Recording::after_drain() {
  recorder_->attended();
  if (recorder_->status()) {
    return *recorder_->status();
  }
  if (cache_ && cache_->cookies().wants_round()) {
    STACKMAP_TRY(settle());
  }
  STACKMAP_TRY(rotate_if_full());
  return check_triggers();
}

Result<void> Recording::drain() {
  STACKMAP_TRY(readers_->drain());
  recorder_->end_batch();
  if (recorder_->status()) {
    return *recorder_->status();
  }
  return {};
}

// Also what the batches hold, and rings below their watermarks, which wake nobody.
Result<void> Recording::settle() {
  if (cache_) {
    STACKMAP_TRY(cache_->settle(*readers_, [this](uint32_t cpu, auto record) {
      recorder_->lane(readers_->reader_of(cpu)).on_record(record, cpu);
    }));
  }
  return drain();
}

Result<void> Recording::flush() {
  STACKMAP_TRY(settle());
  STACKMAP_TRY_VALUE(kernel, bpf_->counters());
  STACKMAP_TRY(recorder_->flush(kernel));
  STACKMAP_TRY(renew_rings(kernel));
  return sync_if_due();
}

// A CPU where events find no ring has come online since the rings were opened, for the first time or once more: a ring
// ends when its CPU goes away.
Result<void> Recording::renew_rings(const std::vector<KernelEventCounters>& kernel) {
  uint64_t errors = 0;
  for (const KernelEventCounters& event : kernel) {
    errors += event.counters.output_error;
  }
  if (errors == output_errors_) {
    return {};
  }
  STACKMAP_TRY_VALUE(by_cpu, bpf_->output_errors());
  output_errors_of_cpu_.resize(by_cpu.size());
  for (uint32_t cpu = 0; cpu < by_cpu.size(); ++cpu) {
    if (by_cpu[cpu] == output_errors_of_cpu_[cpu]) {
      continue;
    }
    const auto renewed = readers_->reopen(cpu);
    if (!renewed && renewed.error().errnum == ENODEV) {
      continue;  // it has gone away again; its counter is looked at when it is back
    }
    if (!std::exchange(renewal_told_, true)) {
      hooks_.note(renewed
                      ? fmt::format("CPU {} has come online and has a ring now; what was lost until then is counted "
                                    "as output errors (this is told once)",
                                    cpu)
                      : renewed.error().message());
    }
  }
  output_errors_ = errors;
  output_errors_of_cpu_ = std::move(by_cpu);
  return {};
}

Result<void> Recording::sync_if_due() {
  const uint64_t now = monotonic_ns();
  if (!options_.sync_ns || now - synced_ns_ < *options_.sync_ns) {
    return {};
  }
  synced_ns_ = now;
  return writer_->sync();
}

Progress Recording::progress(const std::vector<KernelEventCounters>& kernel) const {
  const RecorderCounters& counters = recorder_->counters();
  const uint64_t bytes = flight_ ? flight_->bytes() : bytes_before_ + writer_->bytes_written();
  return {monotonic_ns() - started_ns_, counters.recorded(), recorder_->stacks_stored(), lost_events(kernel, counters),
          bytes};
}

// Told once each, and counted every time.
Result<void> Recording::keep_limits() {
  STACKMAP_TRY_VALUE(resident, resident_memory());
  const auto advice = limits_.update(monotonic_ns(), process_cpu_ns(), resident);
  recorder_->set_limits(limits_.cpu_reached(), limits_.memory_reached());
  if (advice.shed) {
    if (limits_.memory_reached() == 1) {
      hooks_.note(
          fmt::format("{} resident, more than --max-memory: the map begins a new generation", human_size(resident)));
    }
    STACKMAP_TRY(settle());
    STACKMAP_TRY(recorder_->shed_memory());
    (void)::malloc_trim(0);
  }
  if (advice.throttle && !throttled_ && limits_.cpu_reached() <= 1) {
    hooks_.note("at the ceiling of --max-cpu or --max-memory: events are counted, and not recorded, until it is below");
  }
  if (advice.throttle != throttled_) {
    throttled_ = advice.throttle;
    bpf_->throttle(throttled_);
  }
  return {};
}

Result<void> Recording::on_signal(int signal) {
  if (signal != SIGUSR2) {
    loop_.stop();
    return {};
  }
  if (!flight_) {
    return flush();
  }
  if (auto asked = ask_for_snapshot("SIGUSR2", monotonic_ns()); !asked) {
    hooks_.note(asked.error().message());
  }
  return {};
}

Result<CollectorResult> Recording::finish() {
  readers_->stop();
  CollectorResult result;
  result.symbol_source = namer_ ? namer_->source() : "nobody";
  bpf_->stop();
  if (command_) {
    const bool ended = command_->has_ended();
    command_->terminate();
    const auto status = command_->wait();
    if (ended) {
      exit_status_ = result.command_status = status;
    }
  }
  // No program runs any more. All that was sent is in the rings and the batches; each call hands over what they held.
  auto done = settle();
  STACKMAP_TRY_VALUE(kernel, bpf_->counters());
  if (done) {
    done = recorder_->close(kernel);
  }
  if (done) {
    done = syncer_.wait();
  }
  result.ledger = recorder_->ledger(kernel);
  result.total = progress(kernel);
  if (!done) {
    const uint64_t recorded = recorder_->counters().recorded();
    const uint64_t written = events_before_ + writer_->events_written();
    return std::move(done).error().within(
        fmt::format("recording stopped: {} events are in the capture and can be read, {} more could not be written",
                    human_count(written), human_count(recorded - written + recorder_->counters().write_failures)));
  }
  if (store_ != nullptr) {
    store_->closed(true);
  }
  if (flight_) {
    STACKMAP_TRY(last_snapshot());
  }
  if (files_) {
    files_->finish();
    result.segments = store_ == files_.get() ? files_->opened() : written_.size();
    result.removed = files_->removed();
  }
  result.snapshots = std::move(written_);
  return result;
}

}  // namespace stackmap
