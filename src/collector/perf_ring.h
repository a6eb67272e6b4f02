// SPDX-License-Identifier: Apache-2.0
// The per-CPU perf rings that the BPF programs write into. Woken by watermark, never per record: a wake-up
// costs many times what the record itself does. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"

struct perf_buffer;

namespace stackmap {

class PerfRing {
 public:
  struct Callbacks {
    std::function<void(uint32_t cpu, std::span<const std::byte> bytes)> record;
    std::function<void(uint32_t cpu, uint64_t count)> lost;
  };

  // Opens a ring of `bytes` (a power of two of at least a page) on each of these CPUs, which must be online, and puts
  // it in the map. To be done before any program is attached.
  static Result<std::unique_ptr<PerfRing>> create(int map_fd, uint64_t bytes, const std::vector<uint32_t>& cpus,
                                                  Callbacks callbacks);
  ~PerfRing();
  PerfRing(const PerfRing&) = delete;
  PerfRing& operator=(const PerfRing&) = delete;

  // Readable when a ring has passed its watermark.
  int epoll_fd() const;
  // Hands over what is in the rings when it is called; what comes meanwhile waits for the next call, so this returns
  // also while records pour in.
  Result<void> drain();

 private:
  explicit PerfRing(Callbacks callbacks) : callbacks_(std::move(callbacks)) {}
  Callbacks callbacks_;
  perf_buffer* buffer_ = nullptr;
};

}  // namespace stackmap
