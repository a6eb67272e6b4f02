// SPDX-License-Identifier: Apache-2.0
#include "session/recording.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "base/usage.h"
#include "process/host.h"
#include "process/task_table.h"

namespace stackmap {

namespace {

constexpr uint64_t kProgressNs = 250000000;

}  // namespace

Result<RecordingResult> Recording::run(const RecordingOptions& options, RecordSource& source, KernelNamer* namer,
                                       const RecordingHooks& hooks) {
  Recording recording(options, source, namer, hooks);
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

Recording::Recording(const RecordingOptions& options, RecordSource& source, KernelNamer* namer,
                     const RecordingHooks& hooks)
    : options_(options),
      hooks_(hooks),
      namer_(namer),
      flow_(source),
      control_(flow_, loop_, namer, taker_),
      limits_(options.max_cpu, options.max_memory) {}

Result<void> Recording::prepare() {
  STACKMAP_TRY(loop_.open());
  STACKMAP_TRY(loop_.on_signals({SIGINT, SIGTERM, SIGHUP, SIGUSR2}, [this](int signal) { return on_signal(signal); }));
  STACKMAP_TRY(flow_.open_source(options_, hooks_.note));
  if (!options_.control.empty()) {
    STACKMAP_TRY_VALUE(socket, ControlSocket::listen(options_.control));
    STACKMAP_TRY_VALUE(server, ControlServer::create(std::move(socket), control_));
    server_ = std::move(server);
  }
  STACKMAP_TRY(open_recorder());
  if (!options_.command.empty()) {
    STACKMAP_TRY_VALUE(command, Command::prepare(options_.command));
    command_.emplace(std::move(command));
  }
  return {};
}

Result<Triggers> Recording::parse_triggers() const {
  const std::vector<EventType> types = Recorder::event_types(options_.events.any);
  Triggers triggers;
  for (const std::string& text : options_.triggers) {
    STACKMAP_TRY_VALUE(trigger, Trigger::parse(text, types));
    const uint16_t type = trigger.events().event_type;
    if (trigger.on() == Trigger::On::kEvent && type < kFirstFreeEventType &&
        std::ranges::find(options_.events.kinds, static_cast<KnownEvent>(type)) == options_.events.kinds.end()) {
      return make_error(ErrorKind::kUsage, "trigger '" + text + "': that event is not recorded", "name it with -e too");
    }
    triggers.add(std::move(trigger));
  }
  return triggers;
}

Result<void> Recording::open_recorder() {
  STACKMAP_TRY_VALUE(host, read_host_info());
  CaptureInfo info;
  info.host = std::move(host);
  info.tool = options_.tool;
  info.command = options_.command_line;
  info.symbol_source = namer_ != nullptr ? namer_->source() : "nobody";
  info.map_capacity = options_.map_capacity;
  info.ring_bytes = options_.ring_bytes;

  Recorder::Options recorder;
  recorder.any_events = options_.events.any;
  STACKMAP_TRY_VALUE(triggers, parse_triggers());
  recorder.patterns = triggers.patterns();
  recorder.namer = namer_;
  recorder.find_task = [](uint32_t tid, uint64_t time_ns) { return read_proc_task(tid, time_ns); };

  Keeper::Options keep;
  keep.open_file = hooks_.open_file;
  keep.path = hooks_.capture_path;
  keep.segments = options_.segments;
  keep.flight_bytes = options_.flight_bytes;
  keep.sync_ns = options_.sync_ns;
  keep.note = hooks_.note;
  STACKMAP_TRY(flow_.open_recorder(std::move(recorder), std::move(info), std::move(keep)));
  if (FlightRecorder* flight = flow_.keeper().flight(); flight != nullptr) {
    STACKMAP_TRY_VALUE(snapshots, Snapshots::create({options_.before_ns, options_.after_ns, hooks_.note}, *flight,
                                                    *flow_.keeper().files()));
    taker_ = std::make_unique<SnapshotTaker>(flow_, loop_, std::move(snapshots), std::move(triggers), [this] {
      if (server_) {
        server_->finish_waiting();
      }
    });
  }
  return {};
}

Result<void> Recording::scan_tasks() {
  STACKMAP_TRY_VALUE(tasks, read_proc_tasks(monotonic_ns()));
  for (TaskRecord& task : tasks) {
    flow_.recorder().add_seen_task(std::move(task));
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
        STACKMAP_TRY(flow_.source().follow(thread, Follow::kDescendants));
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
    STACKMAP_TRY(flow_.source().follow(thread, Follow::kThread));
  }
  return {};
}

Result<void> Recording::watch_all() {
  STACKMAP_TRY(loop_.watch(flow_.source().fd(), [this]() -> Result<void> {
    STACKMAP_TRY(flow_.attend());
    return check_triggers();
  }));
  if (server_) {
    STACKMAP_TRY(loop_.watch(server_->epoll_fd(), [this]() -> Result<void> {
      server_->serve();
      return flow_.status();
    }));
  }
  if (taker_) {
    STACKMAP_TRY(taker_->watch());
  }
  STACKMAP_TRY(loop_.every(options_.flush_ns, [this]() -> Result<void> {
    STACKMAP_TRY(flow_.flush());
    STACKMAP_TRY(flow_.rotate_if_full());
    return check_triggers();
  }));
  if (hooks_.progress) {
    STACKMAP_TRY(loop_.every(kProgressNs, [this]() -> Result<void> {
      STACKMAP_TRY_VALUE(progress, flow_.progress());
      hooks_.progress(progress);
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
  STACKMAP_TRY_VALUE(resident, resident_memory());
  if (options_.max_memory != 0 && resident > options_.max_memory) {
    return make_error(ErrorKind::kUsage,
                      fmt::format("recording takes {} to begin with, more than --max-memory", human_size(resident)));
  }
  STACKMAP_TRY(flow_.source().attach());
  STACKMAP_TRY(scan_tasks());
  STACKMAP_TRY(follow_targets());
  STACKMAP_TRY(watch_all());
  flow_.start();
  if (hooks_.started) {
    hooks_.started();
  }
  hooks_.note(fmt::format("recording {} events; the stack map holds {} stacks of up to {} frames in at most {}",
                          options_.events.kinds.size() + options_.events.any.size(), options_.map_capacity,
                          flow_.map().options().max_depth, human_size(flow_.map().memory_limit())));
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
  STACKMAP_TRY(flow_.read());
  loop_.call_through([this](const EventLoop::Handler& handler) {
    const RecordSource::Pause pause(flow_.source());
    return handler();
  });
  return loop_.run();
}

Result<void> Recording::check_triggers() {
  return taker_ ? taker_->check_triggers() : Result<void>();
}

// Told once each, and counted every time.
Result<void> Recording::keep_limits() {
  STACKMAP_TRY_VALUE(resident, resident_memory());
  const auto advice = limits_.update(monotonic_ns(), process_cpu_ns(), resident);
  flow_.recorder().set_limits(limits_.cpu_reached(), limits_.memory_reached());
  if (advice.shed) {
    if (limits_.memory_reached() == 1) {
      hooks_.note(
          fmt::format("{} resident, more than --max-memory: the map begins a new generation", human_size(resident)));
    }
    STACKMAP_TRY(flow_.shed_memory());
    (void)::malloc_trim(0);
  }
  if (!advice.turned) {
    return {};
  }
  if (advice.throttle && limits_.cpu_reached() <= 1) {
    hooks_.note("at the ceiling of --max-cpu or --max-memory: events are counted, and not recorded, until it is below");
  }
  flow_.source().throttle(advice.throttle);
  return {};
}

Result<void> Recording::on_signal(int signal) {
  if (signal != SIGUSR2) {
    loop_.stop();
    return {};
  }
  if (!taker_) {
    return flow_.flush();
  }
  if (auto asked = taker_->ask("SIGUSR2", monotonic_ns()); !asked) {
    hooks_.note(asked.error().message());
  }
  return {};
}

Result<RecordingResult> Recording::finish() {
  flow_.source().stop();
  RecordingResult result;
  if (command_) {
    result.command_status = command_->stop();
  }
  STACKMAP_TRY_VALUE(closed, flow_.close());
  result.ledger = std::move(closed.ledger);
  result.total = closed.total;
  if (taker_) {
    taker_->last(result.command_status);
    result.snapshots = taker_->written();
  }
  if (SegmentFiles* files = flow_.keeper().files(); files != nullptr) {
    files->finish();
    result.segments = taker_ ? result.snapshots.size() : files->opened();
    result.removed = files->removed();
  }
  return result;
}

}  // namespace stackmap
