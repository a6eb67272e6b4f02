// SPDX-License-Identifier: Apache-2.0
// When a flight recorder writes a snapshot: when a trigger fires, when somebody asks, and at the end. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "session/event_loop.h"
#include "session/record_flow.h"
#include "store/snapshots.h"
#include "store/trigger.h"

namespace stackmap {

class SnapshotTaker {
 public:
  // All must outlive this object. `answered` is called when an answer is there.
  SnapshotTaker(RecordFlow& flow, EventLoop& loop, std::unique_ptr<Snapshots> snapshots, Triggers triggers,
                std::function<void()> answered);

  // Has the loop finish what is written.
  Result<void> watch();
  // EBUSY while there is another.
  Result<std::shared_ptr<const SnapshotAnswer>> ask(const std::string& why, uint64_t at_ns);
  // Asks for one if a trigger has fired.
  Result<void> check_triggers();
  // The recording has ended, and its command as waitpid() tells, if it ended by itself. Writes what was asked for and
  // is not written, or what the command's exit asks for, or all if nothing else can ask.
  void last(std::optional<int> command_status);

  const std::vector<std::string>& written() const { return snapshots_->written(); }

 private:
  Result<void> begin();

  RecordFlow& flow_;
  EventLoop& loop_;
  std::unique_ptr<Snapshots> snapshots_;
  Triggers triggers_;
  std::function<void()> answered_;
};

}  // namespace stackmap
