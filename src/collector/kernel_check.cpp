// SPDX-License-Identifier: Apache-2.0
#include "collector/kernel_check.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/text.h"
#include "collector/bpf_log.h"
#include "collector/bpf_namer.h"
#include "collector/bpf_session.h"
#include "collector/ring_readers.h"
#include "collector/tracefs.h"
#include "process/host.h"

namespace stackmap {

namespace {

using State = CheckItem::State;

class Check {
 public:
  explicit Check(const DefaultSelection& selected) : selected_(selected) {}

  std::vector<CheckItem> run() {
    host();
    btf();
    names();
    depth();
    events();
    return std::move(items_);
  }

 private:
  void add(State state, std::string what, std::string detail) {
    items_.push_back({state, std::move(what), std::move(detail)});
  }

  void host() {
    const auto info = read_host_info();
    if (info) {
      add(State::kOk, "kernel",
          fmt::format("{} {}, pages of {}", info->kernel_release, info->machine, human_size(info->page_size)));
      add(info->kernel_build_id.empty() ? State::kReduced : State::kOk, "build id",
          info->kernel_build_id.empty() ? "none: another host's symbols cannot be told apart" : info->kernel_build_id);
    }
  }

  void btf() {
    struct stat st {};
    const bool there = ::stat("/sys/kernel/btf/vmlinux", &st) == 0 && st.st_size > 0;
    add(there ? State::kOk : State::kMissing, "BTF (/sys/kernel/btf/vmlinux)",
        there ? "yes" : "no: the kernel needs CONFIG_DEBUG_INFO_BTF=y");
  }

  void names() {
    const auto namer = BpfNamer::create();
    if (namer) {
      add(State::kOk, "kernel symbols", (*namer)->source());
    } else if (namer.error().kind == ErrorKind::kPrivilege) {
      add(State::kMissing, "BPF programs", "not allowed: run as root, outside of a restricted container");
    } else {
      add(State::kReduced, "kernel symbols", "from /proc/kallsyms: " + namer.error().message());
    }
  }

  void depth() {
    const auto limit = kernel_stack_limit();
    if (limit) {
      add(State::kOk, "stack depth", fmt::format("{} frames (kernel.perf_event_max_stack)", *limit));
    }
  }

  void events() {
    const auto tracefs = TraceFs::open();
    if (!tracefs) {
      add(State::kMissing, "tracepoints", tracefs.error().message());
      return;
    }
    const auto all = tracefs->tracepoints();
    if (!all) {
      add(State::kMissing, "tracepoints", all.error().message());
      return;
    }
    add(State::kOk, "tracepoints", human_count(all->size()));
    const auto selection = selected_(*all);
    if (!selection) {
      return;
    }
    for (const std::string& missing : selection->missing) {
      add(State::kReduced, missing, "this kernel has no such tracepoint");
    }
    programs(*selection, *tracefs);
  }

  // Loads everything and attaches it for a moment.
  void programs(const EventSelection& selection, const TraceFs& tracefs) {
    BpfOptions options;
    options.events = selection;
    const auto session = BpfSession::load(options);
    if (!session) {
      add(State::kMissing, "BPF programs", session.error().message());
      return;
    }
    const auto cpus = RingReaders::online_cpus();
    if (!cpus) {
      add(State::kMissing, "perf rings", cpus.error().message());
      return;
    }
    const auto rings = RingReaders::create((*session)->ring_map_fd(), uint64_t{64} << 10, *cpus,
                                           {{[](uint32_t, std::span<const std::byte>) {}, [](uint32_t, uint64_t) {}}});
    if (!rings) {
      add(State::kMissing, "perf rings", rings.error().message());
      return;
    }
    add(State::kOk, "perf rings", fmt::format("on {} CPUs", cpus->size()));
    const auto attached = (*session)->attach(tracefs);
    add(attached ? State::kOk : State::kMissing, "kmem and sched events",
        attached ? fmt::format("{} attach", selection.kinds.size()) : attached.error().message());
  }

  const DefaultSelection& selected_;
  std::vector<CheckItem> items_;
};

}  // namespace

std::vector<CheckItem> check_kernel(const DefaultSelection& selected) {
  capture_bpf_log(LibbpfLog::kKept);
  return Check(selected).run();
}

}  // namespace stackmap
