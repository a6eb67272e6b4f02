// SPDX-License-Identifier: Apache-2.0
// The perf ring of one CPU that the BPF programs write into. Woken by watermark, never per record: a wake-up
// costs many times what the record itself does. Not thread-safe.
//
// A ring lives as long as its CPU stays online: one that went away and came back needs a new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "record/record_source.h"

struct perf_buffer;

namespace stackmap {

class PerfRing {
 public:
  // Opens a ring of `bytes` (a power of two of at least a page) on this CPU, and puts it in the map. ENODEV if the CPU
  // is not online. The programs' output on a CPU without a ring fails, so it is to be done before any is attached.
  static Result<std::unique_ptr<PerfRing>> create(int map_fd, uint64_t bytes, uint32_t cpu, RecordCallbacks callbacks);
  ~PerfRing();
  PerfRing(const PerfRing&) = delete;
  PerfRing& operator=(const PerfRing&) = delete;

  // Readable when the ring has passed its watermark.
  int epoll_fd() const;
  // Hands over what is in the ring when it is called; what comes meanwhile waits for the next call, so this returns
  // also while records pour in.
  Result<void> drain();

 private:
  explicit PerfRing(RecordCallbacks callbacks) : callbacks_(std::move(callbacks)) {}
  RecordCallbacks callbacks_;
  perf_buffer* buffer_ = nullptr;
};

}  // namespace stackmap
