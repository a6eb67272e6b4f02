// SPDX-License-Identifier: Apache-2.0
#include "collector/perf_ring.h"

#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace stackmap {

namespace {

// PERF_RECORD_SAMPLE with PERF_SAMPLE_RAW; `size` bytes follow.
struct RawSample {
  perf_event_header header;
  uint32_t size;
};

// PERF_RECORD_LOST.
struct LostRecord {
  perf_event_header header;
  uint64_t id;
  uint64_t lost;
};

bpf_perf_event_ret on_event(void* context, int cpu, perf_event_header* header) {
  const auto* callbacks = static_cast<const RecordCallbacks*>(context);
  const auto number = static_cast<uint32_t>(cpu);
  if (header->type == PERF_RECORD_SAMPLE && header->size >= sizeof(RawSample)) {
    const auto* sample = reinterpret_cast<const RawSample*>(header);
    const size_t room = header->size - sizeof(RawSample);
    callbacks->record(number, {reinterpret_cast<const std::byte*>(sample + 1), std::min<size_t>(sample->size, room)});
  } else if (header->type == PERF_RECORD_LOST && header->size >= sizeof(LostRecord)) {
    callbacks->lost(number, reinterpret_cast<const LostRecord*>(header)->lost);
  }
  return LIBBPF_PERF_EVENT_CONT;
}

}  // namespace

Result<std::unique_ptr<PerfRing>> PerfRing::create(int map_fd, uint64_t bytes, uint32_t cpu,
                                                   RecordCallbacks callbacks) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  if (bytes < page || (bytes & (bytes - 1)) != 0) {
    return make_error(ErrorKind::kUsage, "a ring of " + std::to_string(bytes) + " bytes is not possible",
                      "--ring-size takes a power of two, at least " + std::to_string(page));
  }
  std::unique_ptr<PerfRing> ring(new PerfRing(std::move(callbacks)));
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_BPF_OUTPUT;
  attr.sample_type = PERF_SAMPLE_RAW;
  attr.sample_period = 1;
  attr.watermark = 1;
  attr.wakeup_watermark = static_cast<uint32_t>(bytes / 4);
  int number = static_cast<int>(cpu);
  perf_buffer_raw_opts options{};
  options.sz = sizeof(options);
  options.cpu_cnt = 1;
  options.cpus = options.map_keys = &number;
  ring->buffer_ =
      perf_buffer__new_raw(map_fd, static_cast<size_t>(bytes / page), &attr, on_event, &ring->callbacks_, &options);
  if (ring->buffer_ == nullptr) {
    const int errnum = errno;
    return errno_error_of(errnum, fmt::format("cannot open the perf ring of CPU {}, of {} bytes", cpu, bytes),
                          errnum == ENOMEM ? "ask for less with --ring-size" : "");
  }
  return ring;
}

PerfRing::~PerfRing() {
  perf_buffer__free(buffer_);
}

int PerfRing::epoll_fd() const {
  return perf_buffer__epoll_fd(buffer_);
}

Result<void> PerfRing::drain() {
  const int error = perf_buffer__consume(buffer_);
  if (error < 0) {
    return errno_error_of(-error, "cannot read a perf ring");
  }
  return {};
}

}  // namespace stackmap
