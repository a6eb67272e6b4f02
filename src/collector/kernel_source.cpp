// SPDX-License-Identifier: Apache-2.0
#include "collector/kernel_source.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace stackmap {

namespace {

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
// processor.
void run_ahead_of_others() {
  (void)::setpriority(PRIO_PROCESS, 0, -20);  // without it recording works, and may lose more
}

}  // namespace

Result<std::unique_ptr<KernelSource>> KernelSource::create(LibbpfLog log) {
  capture_bpf_log(log);
  STACKMAP_TRY(refuse_pid_namespace());
  STACKMAP_TRY_VALUE(tracefs, TraceFs::open());
  return std::unique_ptr<KernelSource>(new KernelSource(std::move(tracefs)));
}

Result<void> KernelSource::open(RecordSourceOptions options) {
  options_ = std::move(options);
  STACKMAP_TRY(load_programs());
  return open_rings();
}

Result<void> KernelSource::load_programs() {
  BpfOptions bpf_options;
  bpf_options.events = options_.events;
  bpf_options.frames = options_.frames;
  bpf_options.narrowed = options_.narrowed;
  bpf_options.cache_entries = options_.cache_entries;
  auto loaded = BpfSession::load(bpf_options);
  if (!loaded && bpf_options.cache_entries != 0) {
    // The cache asks more of the kernel: on arm64 atomic instructions with a result, which BPF has there from 5.18 on.
    bpf_options.cache_entries = 0;
    loaded = BpfSession::load(bpf_options);
    if (loaded) {
      options_.note("this kernel does not take the programs with the cookie cache; going on without it");
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

Result<void> KernelSource::open_rings() {
  STACKMAP_TRY_VALUE(cpus, RingReaders::online_cpus());
  const size_t readers = RingReaders::count_for(options_.readers, cpus.size());
  if (readers < options_.readers) {
    options_.note(
        fmt::format("{} threads read the rings, not {}: there are {} CPUs", readers, options_.readers, cpus.size()));
  }
  for (size_t reader = 0; reader < readers; ++reader) {
    callbacks_.push_back(options_.callbacks_of(reader));
  }
  STACKMAP_TRY_VALUE(rings, RingReaders::create(bpf_->ring_map_fd(), options_.ring_bytes, cpus, callbacks_));
  readers_ = std::move(rings);
  return {};
}

Result<void> KernelSource::attach() {
  run_ahead_of_others();
  STACKMAP_TRY(bpf_->attach(tracefs_));
  bpf_->start_tasks();
  return {};
}

Result<void> KernelSource::read(std::function<bool(size_t reader)> after_drain) {
  return readers_->start(std::move(after_drain));
}

void KernelSource::stop() {
  readers_->stop();
  bpf_->stop();
}

Result<void> KernelSource::attend() {
  return readers_->alone() ? readers_->drain() : readers_->take_attention();
}

// Also what the batches hold, and rings below their watermarks, which wake nobody.
Result<void> KernelSource::settle() {
  if (cache_) {
    STACKMAP_TRY(cache_->settle(
        *readers_, [this](uint32_t cpu, auto record) { callbacks_[readers_->reader_of(cpu)].record(cpu, record); }));
  }
  return readers_->drain();
}

// A CPU where events find no ring has come online since the rings were opened, for the first time or once more: a ring
// ends when its CPU goes away.
Result<void> KernelSource::renew_rings(const std::vector<KernelEventCounters>& counters) {
  uint64_t errors = 0;
  for (const KernelEventCounters& event : counters) {
    errors += event.counters.output_error;
  }
  if (errors == output_errors_) {
    return {};
  }
  STACKMAP_TRY_VALUE(by_cpu, bpf_->output_errors());
  output_errors_of_cpu_.resize(by_cpu.size());
  for (uint32_t cpu = 0; cpu < by_cpu.size(); ++cpu) {
    if (by_cpu[cpu] != output_errors_of_cpu_[cpu]) {
      renew_ring(cpu);
    }
  }
  output_errors_ = errors;
  output_errors_of_cpu_ = std::move(by_cpu);
  return {};
}

void KernelSource::renew_ring(uint32_t cpu) {
  const auto renewed = readers_->reopen(cpu);
  if (!renewed && renewed.error().errnum == ENODEV) {
    return;  // it has gone away again; its counter is looked at when it is back
  }
  if (!std::exchange(renewal_told_, true)) {
    options_.note(renewed ? fmt::format("CPU {} has come online and has a ring now; what was lost until then is "
                                        "counted as output errors (this is told once)",
                                        cpu)
                          : renewed.error().message());
  }
}

}  // namespace stackmap
