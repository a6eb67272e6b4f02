// SPDX-License-Identifier: Apache-2.0
#include "session/snapshot_taker.h"

#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "session/command.h"

namespace stackmap {

SnapshotTaker::SnapshotTaker(RecordFlow& flow, EventLoop& loop, std::unique_ptr<Snapshots> snapshots, Triggers triggers,
                             std::function<void()> answered)
    : flow_(flow),
      loop_(loop),
      snapshots_(std::move(snapshots)),
      triggers_(std::move(triggers)),
      answered_(std::move(answered)) {}

Result<void> SnapshotTaker::watch() {
  return loop_.watch(snapshots_->done_fd(), [this]() -> Result<void> {
    snapshots_->end();
    answered_();
    return {};
  });
}

Result<std::shared_ptr<const SnapshotAnswer>> SnapshotTaker::ask(const std::string& why, uint64_t at_ns) {
  STACKMAP_TRY_VALUE(answer, snapshots_->ask(why, at_ns));
  if (snapshots_->after_ns() != 0) {
    STACKMAP_TRY(loop_.once(snapshots_->after_ns(), [this] { return begin(); }));
  } else {
    STACKMAP_TRY(begin());
  }
  return answer;
}

Result<void> SnapshotTaker::begin() {
  STACKMAP_TRY(flow_.flush());
  STACKMAP_TRY_VALUE(rotated, flow_.rotate());
  if (rotated == RecordFlow::Rotated::kNotYet) {
    snapshots_->give_up(errno_error_of(EBUSY, "the newest events cannot be set apart"));
    answered_();
    return {};
  }
  snapshots_->begin();
  return {};
}

Result<void> SnapshotTaker::check_triggers() {
  if (triggers_.empty()) {
    return {};
  }
  std::optional<std::string> why;
  uint64_t at = monotonic_ns();
  if (const auto fired = flow_.recorder().take_fired()) {
    why = triggers_.text_of_pattern(fired->pattern);
    at = fired->time_ns;
  } else if (triggers_.watch_losses()) {
    STACKMAP_TRY_VALUE(progress, flow_.progress());
    why = triggers_.on_lost(progress.lost);
  }
  if (why && !snapshots_->pending()) {
    STACKMAP_TRY(ask(*why, at));
  }
  return {};
}

void SnapshotTaker::last(std::optional<int> command_status) {
  std::optional<std::string> why;
  if (command_status) {
    why = triggers_.on_exit(Command::exit_code(*command_status));
  }
  if (triggers_.empty()) {
    why = "the end";
  }
  snapshots_->last(why);
  answered_();
}

}  // namespace stackmap
