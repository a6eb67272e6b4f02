// SPDX-License-Identifier: Apache-2.0
// The kernel as a source of records: BPF programs on tracepoints, a ring a CPU, and who reads them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "collector/bpf_log.h"
#include "collector/bpf_session.h"
#include "collector/kernel_cache.h"
#include "collector/ring_readers.h"
#include "collector/tracefs.h"
#include "record/record_source.h"

namespace stackmap {

class KernelSource final : public RecordSource {
 public:
  // Refuses where nothing could be recorded, whatever is asked for. Loads nothing yet.
  static Result<std::unique_ptr<KernelSource>> create(LibbpfLog log);

  Result<uint32_t> max_frames() const override { return kernel_stack_limit(); }
  // Without the cookie cache where the kernel does not take the programs with it, which is noted.
  Result<void> open(RecordSourceOptions options) override;
  size_t readers() const override { return readers_->count(); }
  CookieCache* cookies() override { return cache_ ? &cache_->cookies() : nullptr; }

  // Also puts this process ahead of others, so it is to be called when the command that is recorded has been forked.
  Result<void> attach() override;
  Result<void> follow(uint32_t tid, Follow who) override { return bpf_->add_target(tid, who); }
  void start() override { bpf_->start_events(); }
  Result<void> read(std::function<bool(size_t reader)> after_drain) override;
  void stop() override;

  int fd() const override { return readers_->fd(); }
  Result<void> attend() override;
  Result<void> settle() override;

  Result<std::vector<KernelEventCounters>> counters() const override { return bpf_->counters(); }
  Result<void> renew_rings(const std::vector<KernelEventCounters>& counters) override;
  void throttle(bool on) override { bpf_->throttle(on); }

 private:
  explicit KernelSource(TraceFs tracefs) : tracefs_(std::move(tracefs)) {}
  Result<void> load_programs();
  Result<void> open_rings();
  void renew_ring(uint32_t cpu);
  void pause() override { readers_->pause(); }
  void resume() override { readers_->resume(); }

  TraceFs tracefs_;
  RecordSourceOptions options_;
  std::unique_ptr<BpfSession> bpf_;
  std::unique_ptr<KernelCache> cache_;  // null: without the cookie cache
  std::unique_ptr<RingReaders> readers_;
  std::vector<RecordCallbacks> callbacks_;  // by reader
  uint64_t output_errors_ = 0;              // of all CPUs, and of each, when rings were last renewed
  std::vector<uint64_t> output_errors_of_cpu_;
  bool renewal_told_ = false;
};

}  // namespace stackmap
