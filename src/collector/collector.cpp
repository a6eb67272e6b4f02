// SPDX-License-Identifier: Apache-2.0
#include "collector/collector.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "collector/bpf_log.h"
#include "collector/bpf_namer.h"
#include "collector/bpf_session.h"
#include "collector/command.h"
#include "collector/control_server.h"
#include "collector/kernel_cache.h"
#include "collector/perf_ring.h"
#include "collector/tracefs.h"
#include "process/host.h"
#include "process/task_table.h"
#include "recorder/recorder.h"
#include "stackmap/stack_map.h"

namespace stackmap {

namespace {

constexpr uint64_t kProgressNs = 250000000;
constexpr ino_t kFirstPidNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO of the kernel

Result<Fd> make_signal_fd() {
  sigset_t set;
  (void)sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    (void)sigaddset(&set, signal);
  }
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) {
    return errno_error("cannot block signals");
  }
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) {
    return errno_error("cannot open a signalfd");
  }
  return fd;
}

Result<Fd> make_timer(uint64_t first_ns, uint64_t every_ns) {
  Fd fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const auto spec = [](uint64_t ns) {
    return timespec{static_cast<time_t>(ns / 1000000000U), static_cast<long>(ns % 1000000000U)};
  };
  const itimerspec when = {spec(every_ns), spec(first_ns)};
  if (!fd.valid() || ::timerfd_settime(fd.get(), 0, &when, nullptr) != 0) {
    return errno_error("cannot set a timer");
  }
  return fd;
}

uint64_t lost_events(const std::vector<KernelEventCounters>& kernel, const RecorderCounters& recorder) {
  uint64_t lost = recorder.rejected() + recorder.write_failures;
  for (const KernelEventCounters& event : kernel) {
    const ProgramCounters& c = event.counters;
    lost += c.ring_full + c.output_error + c.scratch_busy + event.recursion_misses;
  }
  return lost;
}

// The parts of a running recording, in the order in which they are made.
class Recording final : private ControlTarget {
 public:
  Recording(const CollectorOptions& options, const Collector::Hooks& hooks) : options_(options), hooks_(hooks) {}

  Result<void> prepare();
  Result<void> start();
  Result<void> loop();
  Result<CollectorResult> finish();

 private:
  enum Source : uint32_t { kRing, kSignal, kFlush, kProgress, kDuration, kCommand, kControl };

  Result<void> make_namer();
  Result<void> load_programs(uint32_t frames);
  Result<void> open_capture(uint32_t frames);
  Result<void> scan_tasks();
  Result<void> follow_targets();
  Result<void> watch(int fd, Source source);
  Result<void> drain();
  Result<void> settle();
  Result<void> flush();
  Progress progress(const std::vector<KernelEventCounters>& kernel) const;
  Result<bool> handle(Source source);

  // By the control socket.
  Result<void> reset() override;
  Result<void> on() override;
  Result<void> off() override;
  Result<std::weak_ptr<const Generation>> free() override;
  std::string stat() override;
  std::shared_ptr<const Generation> map() override;
  std::string frame_text(uint64_t address) override;
  Result<std::string> snapshot() override;
  void stop() override { stop_ = true; }

  const CollectorOptions& options_;
  const Collector::Hooks& hooks_;
  std::optional<TraceFs> tracefs_;
  std::unique_ptr<KernelNamer> namer_;
  std::unique_ptr<StackMap> map_;
  std::unique_ptr<BpfSession> bpf_;
  std::unique_ptr<KernelCache> cache_;  // null: without the cookie cache
  std::unique_ptr<PerfRing> ring_;
  std::unique_ptr<CaptureWriter> writer_;
  std::unique_ptr<Recorder> recorder_;
  std::optional<Command> command_;
  std::unique_ptr<ControlServer> control_;
  bool stop_ = false;
  Fd epoll_, signals_, flush_timer_, progress_timer_, duration_timer_;
  uint64_t started_ns_ = 0;
};

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

Result<void> Recording::open_capture(uint32_t frames) {
  CaptureInfo info;
  STACKMAP_TRY_VALUE(host, read_host_info());
  info.host = std::move(host);
  info.tool = options_.tool;
  info.command = options_.command_line;
  info.symbol_source = namer_ ? namer_->source() : "nobody";
  info.map_capacity = options_.map_capacity;
  info.max_depth = frames;
  info.ring_bytes = options_.ring_bytes;
  info.anchors = {clock_anchor()};

  Recorder::Options recorder_options;
  for (const Tracepoint& tracepoint : options_.events.any) {
    recorder_options.any_events.push_back(tracepoint.full_name());
  }
  recorder_options.frames_asked = frames;
  recorder_options.namer = namer_.get();
  recorder_options.cache = cache_ ? &cache_->cookies() : nullptr;
  recorder_options.find_task = [](uint32_t tid, uint64_t time_ns) { return read_proc_task(tid, time_ns); };
  STACKMAP_TRY_VALUE(file, hooks_.open_file());
  STACKMAP_TRY_VALUE(
      writer, CaptureWriter::create(std::move(file), info, Recorder::event_types(recorder_options.any_events), {}));
  writer_ = std::move(writer);
  recorder_ = std::make_unique<Recorder>(std::move(recorder_options), *map_, *writer_);
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

// BPF programs see the numbers of the first PID namespace, this process and the user those of their own.
Result<void> refuse_pid_namespace() {
  struct stat st {};
  if (::stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != kFirstPidNamespace) {
    return make_error(ErrorKind::kUnsupported, "cannot record inside a PID namespace",
                      "run it on the host, or in a container that shares the host's (--pid=host)");
  }
  return {};
}

Result<void> Recording::prepare() {
  capture_bpf_log(options_.verbose);
  STACKMAP_TRY(refuse_pid_namespace());
  STACKMAP_TRY_VALUE(signals, make_signal_fd());
  signals_ = std::move(signals);
  STACKMAP_TRY_VALUE(tracefs, TraceFs::open());
  tracefs_.emplace(std::move(tracefs));
  STACKMAP_TRY(make_namer());
  STACKMAP_TRY_VALUE(limit, kernel_stack_limit());
  const uint32_t frames = options_.max_depth == 0 ? limit : std::min(options_.max_depth, limit);

  StackMapOptions map_options;
  map_options.capacity = options_.map_capacity;
  map_options.max_depth = frames;
  STACKMAP_TRY_VALUE(map, StackMap::create(map_options));
  map_ = std::move(map);
  STACKMAP_TRY(load_programs(frames));
  PerfRing::Callbacks callbacks;
  callbacks.record = [this](uint32_t cpu, std::span<const std::byte> bytes) { recorder_->on_record(bytes, cpu); };
  callbacks.lost = [this](uint32_t cpu, uint64_t count) { recorder_->on_lost(cpu, count); };
  STACKMAP_TRY_VALUE(ring, PerfRing::create(bpf_->ring_map_fd(), options_.ring_bytes, std::move(callbacks)));
  ring_ = std::move(ring);
  if (!options_.control.empty()) {
    STACKMAP_TRY_VALUE(socket, ControlSocket::listen(options_.control));
    STACKMAP_TRY_VALUE(control, ControlServer::create(std::move(socket), *this));
    control_ = std::move(control);
  }
  if (!options_.command.empty()) {
    STACKMAP_TRY_VALUE(command, Command::prepare(options_.command));
    command_.emplace(std::move(command));
  }
  return open_capture(frames);
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

Result<void> Recording::watch(int fd, Source source) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = source;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return errno_error("cannot watch a descriptor");
  }
  return {};
}

// A ring of half a megabyte is full within milliseconds of a busy CPU: who drains it must not wait in line for a
// processor. The command has been started before and keeps its own priority.
void run_ahead_of_others() {
  (void)::setpriority(PRIO_PROCESS, 0, -20);  // without it recording works, and may lose more
}

Result<void> Recording::start() {
  run_ahead_of_others();
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) {
    return errno_error("cannot make an epoll");
  }
  STACKMAP_TRY(watch(ring_->epoll_fd(), kRing));
  STACKMAP_TRY(watch(signals_.get(), kSignal));
  if (control_) {
    STACKMAP_TRY(watch(control_->epoll_fd(), kControl));
  }
  STACKMAP_TRY(bpf_->attach(*tracefs_));
  bpf_->start_tasks();
  STACKMAP_TRY(scan_tasks());
  STACKMAP_TRY(follow_targets());
  started_ns_ = monotonic_ns();
  bpf_->start_events();
  STACKMAP_TRY_VALUE(flush_timer, make_timer(options_.flush_ns, options_.flush_ns));
  flush_timer_ = std::move(flush_timer);
  STACKMAP_TRY(watch(flush_timer_.get(), kFlush));
  if (hooks_.progress) {
    STACKMAP_TRY_VALUE(timer, make_timer(kProgressNs, kProgressNs));
    progress_timer_ = std::move(timer);
    STACKMAP_TRY(watch(progress_timer_.get(), kProgress));
  }
  if (options_.duration_ns != 0) {
    STACKMAP_TRY_VALUE(timer, make_timer(options_.duration_ns, 0));
    duration_timer_ = std::move(timer);
    STACKMAP_TRY(watch(duration_timer_.get(), kDuration));
  }
  if (hooks_.started) {
    hooks_.started();
  }
  hooks_.note(fmt::format("recording {} events; the stack map holds {} stacks of up to {} frames in at most {}",
                          options_.events.kinds.size() + options_.events.any.size(), options_.map_capacity,
                          map_->options().max_depth, human_size(map_->memory_limit())));
  if (command_) {
    STACKMAP_TRY(watch(command_->pidfd(), kCommand));
    STACKMAP_TRY(command_->go());
  }
  return {};
}

Result<void> Recording::drain() {
  STACKMAP_TRY(ring_->drain());
  recorder_->end_batch();
  if (recorder_->status()) {
    return *recorder_->status();
  }
  return {};
}

// Also what the batches hold, and rings below their watermarks, which wake nobody.
Result<void> Recording::settle() {
  if (cache_) {
    STACKMAP_TRY(cache_->settle(*ring_, [this](uint32_t cpu, auto record) { recorder_->on_record(record, cpu); }));
  }
  return drain();
}

Result<void> Recording::flush() {
  STACKMAP_TRY(settle());
  STACKMAP_TRY_VALUE(kernel, bpf_->counters());
  return recorder_->flush(kernel);
}

Progress Recording::progress(const std::vector<KernelEventCounters>& kernel) const {
  const RecorderCounters& counters = recorder_->counters();
  return {monotonic_ns() - started_ns_, counters.recorded(), recorder_->stacks_stored(), lost_events(kernel, counters),
          writer_->bytes_written()};
}

// Returns false when recording is to end.
Result<bool> Recording::handle(Source source) {
  uint64_t expirations = 0;
  const auto clear = [&](const Fd& timer) { (void)!::read(timer.get(), &expirations, sizeof(expirations)); };
  switch (source) {
    case kRing:
      STACKMAP_TRY(drain());
      if (cache_ && cache_->cookies().wants_round()) {
        STACKMAP_TRY(settle());
      }
      return true;
    case kFlush:
      clear(flush_timer_);
      STACKMAP_TRY(flush());
      return true;
    case kProgress: {
      clear(progress_timer_);
      STACKMAP_TRY_VALUE(kernel, bpf_->counters());
      hooks_.progress(progress(kernel));
      return true;
    }
    case kControl:
      control_->serve();
      if (recorder_->status()) {
        return *recorder_->status();
      }
      return !stop_;
    case kSignal:
    case kDuration:
    case kCommand:
      return false;
  }
  return true;
}

// What is in the batches and rings by now was recorded before the command.
Result<void> Recording::reset() {
  STACKMAP_TRY(settle());
  return recorder_->reset_map();
}

Result<void> Recording::on() {
  STACKMAP_TRY(settle());
  STACKMAP_TRY(map_->on());
  recorder_->follow_map();
  return {};
}

Result<void> Recording::off() {
  STACKMAP_TRY(settle());
  map_->off();
  recorder_->follow_map();
  return {};
}

Result<std::weak_ptr<const Generation>> Recording::free() {
  STACKMAP_TRY(settle());
  return recorder_->free_map();
}

std::string Recording::stat() {
  // Up to date, and the session's own counters handed in.
  if (auto drained = settle(); !drained) {
    log_warning(drained.error().message());
  }
  const std::string text = stats_text(map_->stats());
  return text.empty() || !cache_ ? text : text + cache_->cookies().stats_text();
}

std::shared_ptr<const Generation> Recording::map() {
  if (auto drained = settle(); !drained) {
    log_warning(drained.error().message());
  }
  return map_->snapshot();
}

std::string Recording::frame_text(uint64_t address) {
  if (namer_ != nullptr) {
    if (const auto symbol = namer_->name(std::span(&address, 1), AddressKind::kReturn)) {
      return symbol->front().text(address);
    }
  }
  return KernelSymbol{}.text(address);
}

Result<std::string> Recording::snapshot() {
  STACKMAP_TRY(flush());
  return hooks_.capture_path;
}

Result<void> Recording::loop() {
  for (;;) {
    std::array<epoll_event, 8> events;
    const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
    if (n < 0 && errno != EINTR) {
      return errno_error("cannot wait for events");
    }
    for (int i = 0; i < n; ++i) {
      STACKMAP_TRY_VALUE(go_on, handle(static_cast<Source>(events[static_cast<size_t>(i)].data.u32)));
      if (!go_on) {
        return {};
      }
    }
  }
}

Result<CollectorResult> Recording::finish() {
  CollectorResult result;
  result.symbol_source = namer_ ? namer_->source() : "nobody";
  bpf_->stop();
  if (command_) {
    const bool ended = command_->has_ended();
    command_->terminate();
    const auto status = command_->wait();
    if (ended) {
      result.command_status = status;
    }
  }
  // No program runs any more. All that was sent is in the rings and the batches; each call hands over what they held.
  auto done = settle();
  STACKMAP_TRY_VALUE(kernel, bpf_->counters());
  if (done) {
    done = recorder_->close(kernel);
  }
  result.ledger = recorder_->ledger(kernel);
  result.total = progress(kernel);
  if (!done) {
    const uint64_t unwritten = recorder_->counters().recorded() - writer_->events_written();
    return std::move(done).error().within(fmt::format(
        "recording stopped: {} events are in the capture and can be read, {} more could not be written",
        human_count(writer_->events_written()), human_count(unwritten + recorder_->counters().write_failures)));
  }
  return result;
}

}  // namespace

Result<CollectorResult> Collector::run(const CollectorOptions& options, const Hooks& hooks) {
  Recording recording(options, hooks);
  STACKMAP_TRY(recording.prepare());
  STACKMAP_TRY(recording.start());
  const auto looped = recording.loop();
  auto result = recording.finish();
  if (!result) {
    return result;
  }
  if (!looped) {
    return looped.error();
  }
  return result;
}

}  // namespace stackmap
