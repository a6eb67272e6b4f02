// SPDX-License-Identifier: Apache-2.0
// What the control socket does to a recording. Each command first takes what is in the batches and rings: that was
// recorded before it. Not thread-safe.
#pragma once

#include <memory>
#include <string>

#include "process/kernel_symbol.h"
#include "session/control_server.h"
#include "session/event_loop.h"
#include "session/record_flow.h"
#include "session/snapshot_taker.h"

namespace stackmap {

class RecordingControl final : public ControlTarget {
 public:
  // All must outlive this object. `namer` may be null; `taker` is looked at when a snapshot is asked for: null without
  // a flight recorder.
  RecordingControl(RecordFlow& flow, EventLoop& loop, KernelNamer* namer, const std::unique_ptr<SnapshotTaker>& taker)
      : flow_(flow), loop_(loop), namer_(namer), taker_(taker) {}

  Result<void> reset() override;
  Result<void> on() override;
  Result<void> off() override;
  Result<std::weak_ptr<const Generation>> free() override;
  std::string stat() override;
  std::shared_ptr<const Generation> map() override;
  std::string frame_text(uint64_t address) override;
  Result<std::shared_ptr<const SnapshotAnswer>> snapshot() override;
  void stop() override { loop_.stop(); }

 private:
  void settle_for_readers();

  RecordFlow& flow_;
  EventLoop& loop_;
  KernelNamer* namer_;
  const std::unique_ptr<SnapshotTaker>& taker_;
};

}  // namespace stackmap
