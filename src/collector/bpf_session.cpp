// SPDX-License-Identifier: Apache-2.0
#include "collector/bpf_session.h"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stackmap.skel.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>

#include "base/fd.h"
#include "base/text.h"
#include "collector/bpf_log.h"
#include "process/host.h"

namespace stackmap {

namespace {

Error load_error(int errnum) {
  const std::string log = take_bpf_log();
  if (errnum == EPERM) {
    return errno_error_of(errnum, "cannot load BPF programs", "run as root, outside of a restricted container");
  }
  if (log.find("kernel BTF") != std::string::npos) {
    return make_error(ErrorKind::kUnsupported,
                      "cannot load the BPF programs: this kernel does not show its types (BTF)",
                      "it needs CONFIG_DEBUG_INFO_BTF=y, and /sys/kernel/btf/vmlinux to be readable");
  }
  // EACCES is the verifier's, which a kernel that lacks something gives too.
  Error error =
      errno_error_of(errnum, "cannot load the BPF programs", "'stackmap check' shows what this kernel offers");
  error.kind = errnum == ENOMEM ? ErrorKind::kFailed : ErrorKind::kUnsupported;
  if (!log.empty()) {
    error.context += " (" + log + ")";
  }
  return error;
}

// Returns when every program that was running at the time of the call has ended: programs run with preemption off, or
// inside RCU, and this call waits for both on all CPUs.
void wait_for_programs() {
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0) {
    return;
  }
  // Not offered with nohz_full. To be run on a CPU is to know that what had preemption off there has ended.
  cpu_set_t before;
  if (::sched_getaffinity(0, sizeof(before), &before) != 0) {
    return;
  }
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(cpu), &one);
    (void)::sched_setaffinity(0, sizeof(one), &one);  // fails for CPUs that are not there
  }
  (void)::sched_setaffinity(0, sizeof(before), &before);
}

}  // namespace

Result<uint32_t> kernel_stack_limit() {
  STACKMAP_TRY_VALUE(text, read_text_file("/proc/sys/kernel/perf_event_max_stack", 64));
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  STACKMAP_TRY_VALUE(frames, parse_uint(text));
  return static_cast<uint32_t>(std::clamp<uint64_t>(frames, 1, kMaxSampleFrames));
}

bool BpfSession::selected(KnownEvent kind) const {
  return std::find(options_.events.kinds.begin(), options_.events.kinds.end(), kind) != options_.events.kinds.end();
}

bpf_program* BpfSession::program_of(const KindInfo& kind) const {
  return bpf_object__find_program_by_name(skeleton_->obj, std::string(kind.name).c_str());
}

Result<std::unique_ptr<BpfSession>> BpfSession::load(const BpfOptions& options) {
  std::unique_ptr<BpfSession> session(new BpfSession(options));
  STACKMAP_TRY(session->open());
  errno = 0;
  if (const int error = stackmap_bpf::load(session->skeleton_); error != 0) {
    return load_error(-error);
  }
  return session;
}

Result<void> BpfSession::open() {
  errno = 0;
  skeleton_ = stackmap_bpf::open();
  if (skeleton_ == nullptr) {
    return load_error(errno);
  }
  skeleton_->rodata->profiler_tgid = static_cast<uint32_t>(::getpid());
  skeleton_->rodata->stack_bytes = options_.frames * 8;
  skeleton_->rodata->narrowed = options_.narrowed;
  skeleton_->rodata->cached = options_.cache_entries != 0;
  skeleton_->rodata->cache_mask = options_.cache_entries != 0 ? options_.cache_entries - 1 : 0;
  skeleton_->rodata->states = static_cast<uint32_t>(kFirstAnyEvent + options_.events.any.size());
  for (const KnownEvent kind : options_.events.kinds) {
    skeleton_->rodata->selected[kind] = true;
  }
  for (size_t i = 0; i < options_.events.any.size(); ++i) {
    const std::vector<AnyField>& fields = options_.events.any[i].fields;
    for (size_t n = 0; n < fields.size(); ++n) {
      skeleton_->rodata->any_places[i][n] = fields[n].place();
    }
  }
  for (const KindInfo& kind : kinds()) {
    (void)bpf_program__set_autoload(program_of(kind), kind.feeds_task_table() || selected(kind.kind));
  }
  (void)bpf_program__set_autoload(skeleton_->progs.any_event, !options_.events.any.empty());
  (void)bpf_program__set_autoload(skeleton_->progs.sched_process_free, options_.narrowed);
  (void)bpf_program__set_autoload(skeleton_->progs.flush_batch, options_.cache_entries != 0);
  return size_maps();
}

Result<void> BpfSession::size_maps() {
  // The value holds stacks of 127 frames as it is.
  const uint32_t more_frames = options_.frames > 127 ? options_.frames - 127 : 0;
  const uint32_t value = bpf_map__value_size(skeleton_->maps.programs) + more_frames * 8;
  int error = bpf_map__set_max_entries(skeleton_->maps.programs, skeleton_->rodata->states);
  if (error == 0 && options_.cache_entries != 0) {
    // By number, and the numbers may have gaps.
    STACKMAP_TRY_VALUE(host, read_host_info());
    error = bpf_map__set_max_entries(skeleton_->maps.batches, host.cpus_possible);
    if (error == 0) {
      error = bpf_map__set_max_entries(skeleton_->maps.cache, options_.cache_entries);
    }
  }
  if (error == 0 && more_frames != 0) {
    error = bpf_map__set_value_size(skeleton_->maps.programs, value);
  }
  if (error != 0) {
    return errno_error_of(-error, "cannot size the BPF maps");
  }
  return {};
}

BpfSession::~BpfSession() {
  for (bpf_link* link : links_) {
    (void)bpf_link__destroy(link);
  }
  stackmap_bpf::destroy(skeleton_);
}

int BpfSession::ring_map_fd() const {
  return bpf_map__fd(skeleton_->maps.ring);
}

Result<std::unique_ptr<CacheMap>> BpfSession::open_cache() const {
  CacheMap::Handles handles;
  handles.cache_map = bpf_map__fd(skeleton_->maps.cache);
  handles.batches_map = bpf_map__fd(skeleton_->maps.batches);
  handles.flush_program = bpf_program__fd(skeleton_->progs.flush_batch);
  handles.entries = options_.cache_entries;
  handles.cpus = bpf_map__max_entries(skeleton_->maps.batches);
  handles.generation = &skeleton_->bss->cache_generation;
  handles.wait = wait_for_programs;
  return CacheMap::open(std::move(handles));
}

Result<void> BpfSession::add_target(uint32_t tid, Follow who) {
  const uint32_t value = who == Follow::kDescendants ? 1 : 0;
  if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.targets), &tid, &value, BPF_ANY) != 0) {
    return errno_error(fmt::format("cannot follow thread {}", tid), errno == E2BIG ? "at most 65536 can be" : "");
  }
  return {};
}

Result<void> BpfSession::attach_tracepoint(const TraceFs& tracefs, const Tracepoint& tracepoint, bpf_program* program,
                                           uint64_t cookie) {
  STACKMAP_TRY_VALUE(id, tracefs.id(tracepoint.category, tracepoint.name));
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = id;
  // The program runs for every hit on every CPU, whatever the event is bound to. Bound to this process, the event
  // itself costs the traced ones nothing.
  Fd event(static_cast<int>(::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event.valid()) {
    return errno_error("cannot open the tracepoint " + tracepoint.full_name(),
                       errno == EACCES || errno == EPERM ? "run as root" : "");
  }
  bpf_perf_event_opts options{};
  options.sz = sizeof(options);
  options.bpf_cookie = cookie;
  bpf_link* link = bpf_program__attach_perf_event_opts(program, event.get(), &options);
  if (link == nullptr) {
    const int errnum = errno;
    (void)take_bpf_log();
    return errno_error_of(errnum, "cannot attach to the tracepoint " + tracepoint.full_name(),
                          cookie != 0 && errnum == EOPNOTSUPP ? "events of this kind need Linux 5.15" : "");
  }
  (void)event.release();  // the link's
  links_.push_back(link);
  return {};
}

Result<void> BpfSession::attach(const TraceFs& tracefs) {
  for (const bool task_table : {true, false}) {
    for (const KindInfo& kind : kinds()) {
      if (kind.feeds_task_table() != task_table || (!task_table && !selected(kind.kind))) {
        continue;
      }
      if (!task_table) {
        STACKMAP_TRY(
            attach_tracepoint(tracefs, {std::string(kind.category), std::string(kind.name)}, program_of(kind), 0));
        continue;
      }
      bpf_link* link = bpf_program__attach(program_of(kind));
      if (link == nullptr) {
        return errno_error(fmt::format("cannot attach to the tracepoint {}:{}", kind.category, kind.name));
      }
      links_.push_back(link);
    }
    if (task_table && options_.narrowed) {
      bpf_link* link = bpf_program__attach(skeleton_->progs.sched_process_free);
      if (link == nullptr) {
        return errno_error("cannot attach to the tracepoint sched:sched_process_free");
      }
      links_.push_back(link);
    }
  }
  uint64_t number = kFirstAnyEvent;
  for (const Tracepoint& tracepoint : options_.events.any) {
    STACKMAP_TRY(attach_tracepoint(tracefs, tracepoint, skeleton_->progs.any_event, number++));
  }
  return {};
}

void BpfSession::start_tasks() {
  skeleton_->bss->phase = static_cast<uint32_t>(RecordPhase::kTasks);
}

void BpfSession::start_events() {
  misses_before_ = read_misses();
  skeleton_->bss->phase = static_cast<uint32_t>(RecordPhase::kEvents);
}

void BpfSession::throttle(bool on) {
  skeleton_->bss->phase = static_cast<uint32_t>(on ? RecordPhase::kCount : RecordPhase::kEvents);
}

void BpfSession::stop() {
  skeleton_->bss->phase = static_cast<uint32_t>(RecordPhase::kNothing);
  misses_at_end_ = read_misses();
  wait_for_programs();
  for (bpf_link* link : links_) {
    (void)bpf_link__destroy(link);  // there is no error that leaves it attached
  }
  links_.clear();
}

Result<std::vector<ProgramCounters>> BpfSession::read_counters(uint32_t index) const {
  const int cpus = libbpf_num_possible_cpus();
  if (cpus < 0) {
    return errno_error_of(-cpus, "cannot tell the number of CPUs");
  }
  const size_t value = (bpf_map__value_size(skeleton_->maps.programs) + 7) / 8 * 8;
  std::vector<std::byte> values(value * static_cast<size_t>(cpus));
  if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.programs), &index, values.data()) != 0) {
    return errno_error("cannot read the BPF programs' counters");
  }
  std::vector<ProgramCounters> counters;
  for (size_t cpu = 0; cpu < static_cast<size_t>(cpus); ++cpu) {
    counters.push_back(decode_counters(std::span(values).subspan(cpu * value, kCounterBytes)));
  }
  return counters;
}

Result<ProgramCounters> BpfSession::sum_counters(uint32_t index) const {
  STACKMAP_TRY_VALUE(counters, read_counters(index));
  ProgramCounters sum;
  for (const ProgramCounters& of_cpu : counters) {
    sum += of_cpu;
  }
  return sum;
}

Result<std::vector<uint64_t>> BpfSession::output_errors() const {
  std::vector<uint64_t> errors;
  for (uint32_t index = 0; index < bpf_map__max_entries(skeleton_->maps.programs); ++index) {
    STACKMAP_TRY_VALUE(counters, read_counters(index));
    errors.resize(counters.size());
    for (size_t cpu = 0; cpu < counters.size(); ++cpu) {
      errors[cpu] += counters[cpu].output_error;
    }
  }
  return errors;
}

// The programs whose runs are counted, in the order of counters(). One program serves all tracepoints that have none of
// their own, and the kernel counts its misses together: it comes last.
std::vector<std::pair<std::string, bpf_program*>> BpfSession::counted_programs() const {
  std::vector<std::pair<std::string, bpf_program*>> programs;
  for (const KindInfo& kind : kinds()) {
    if (kind.feeds_task_table() || selected(kind.kind)) {
      programs.emplace_back(fmt::format("{}:{}", kind.category, kind.name), program_of(kind));
    }
  }
  if (!options_.events.any.empty()) {
    programs.emplace_back("any", skeleton_->progs.any_event);
  }
  return programs;
}

std::vector<uint64_t> BpfSession::read_misses() const {
  std::vector<uint64_t> misses;
  for (const auto& [name, program] : counted_programs()) {
    bpf_prog_info info{};
    uint32_t size = sizeof(info);
    const bool read = bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0;
    misses.push_back(read ? info.recursion_misses : 0);
  }
  return misses;
}

Result<std::vector<KernelEventCounters>> BpfSession::counters() const {
  const std::vector<uint64_t> misses = links_.empty() ? misses_at_end_ : read_misses();
  const auto misses_of = [&](size_t i) {
    return i < misses.size() && i < misses_before_.size() ? misses[i] - misses_before_[i] : 0;
  };
  std::vector<KernelEventCounters> all;
  for (const KindInfo& kind : kinds()) {
    if (kind.feeds_task_table() || selected(kind.kind)) {
      STACKMAP_TRY_VALUE(counters, sum_counters(kind.kind));
      all.push_back({fmt::format("{}:{}", kind.category, kind.name), counters, misses_of(all.size())});
    }
  }
  const size_t any = all.size();
  uint32_t number = kFirstAnyEvent;
  for (const Tracepoint& tracepoint : options_.events.any) {
    STACKMAP_TRY_VALUE(counters, sum_counters(number));
    all.push_back({tracepoint.full_name(), counters, 0});
    ++number;
  }
  if (!options_.events.any.empty()) {
    all.push_back({"any", {}, misses_of(any)});
  }
  return all;
}

}  // namespace stackmap
