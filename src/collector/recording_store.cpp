// SPDX-License-Identifier: Apache-2.0
// Where a recording goes: one capture, segments, or memory and snapshots of it.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/clock.h"
#include "base/text.h"
#include "collector/recording.h"

namespace stackmap {

Result<void> Recording::open_store() {
  if (options_.segments) {
    STACKMAP_TRY_VALUE(files, SegmentFiles::create(*options_.segments, hooks_.note));
    files_ = std::move(files);
    store_ = files_.get();
  }
  if (options_.flight_bytes != 0) {
    flight_ = std::make_unique<FlightRecorder>(options_.flight_bytes);
    store_ = flight_.get();
    STACKMAP_TRY_VALUE(snapshots, SnapshotWriter::create(*files_));
    snapshots_ = std::move(snapshots);
  }
  return {};
}

// The file of the next capture, with its header.
Result<std::unique_ptr<CaptureWriter>> Recording::open_capture() {
  info_.anchors = {clock_anchor()};
  CaptureWriter::Options writer_options;
  if (flight_) {
    writer_options.block_bytes = flight_->block_bytes();
  }
  if (store_ == nullptr) {
    STACKMAP_TRY_VALUE(file, hooks_.open_file());
    return CaptureWriter::create(syncer_.wrap(std::move(file)), info_, types_, writer_options);
  }
  STACKMAP_TRY_VALUE(file, store_->open_next());
  info_.segment = store_->segment();
  return CaptureWriter::create(std::move(file), info_, types_, writer_options);
}

bool Recording::capture_is_full() const {
  return store_ != nullptr && store_->is_full(writer_->bytes_written(), monotonic_ns() - capture_began_ns_);
}

Result<void> Recording::rotate_if_full() {
  return capture_is_full() ? rotate() : Result<void>();
}

Result<void> Recording::rotate() {
  STACKMAP_TRY_VALUE(kernel, bpf_->counters());
  if (!next_writer_) {
    STACKMAP_TRY_VALUE(writer, open_capture());
    next_writer_ = std::move(writer);
  }
  if (auto rotated = recorder_->rotate(*next_writer_, kernel); !rotated) {
    // Readers hold too many generations of the map: the segment grows until they let go.
    return rotated.error().errnum == EBUSY ? Result<void>() : std::move(rotated);
  }
  events_before_ += writer_->events_written();
  bytes_before_ += writer_->bytes_written();
  writer_ = std::move(next_writer_);
  capture_began_ns_ = monotonic_ns();
  if (recorder_->status()) {
    return *recorder_->status();
  }
  store_->closed(false);
  return {};
}

Result<std::shared_ptr<const Recording::Snapshot>> Recording::ask_for_snapshot(const std::string& why, uint64_t at_ns) {
  if (pending_) {
    return errno_error_of(EBUSY, "a snapshot (" + pending_->why + ") is being written; none for " + why);
  }
  Pending pending;
  pending.why = why;
  pending.at_ns = at_ns;
  pending.answer = std::make_shared<Snapshot>();
  pending_ = std::move(pending);
  std::shared_ptr<const Snapshot> answer = pending_->answer;
  if (options_.after_ns != 0) {
    hooks_.note(fmt::format("{}: a snapshot follows in {:.1f} s", why, static_cast<double>(options_.after_ns) / 1e9));
    STACKMAP_TRY(loop_.once(options_.after_ns, [this] { return begin_snapshot(); }));
  } else {
    STACKMAP_TRY(begin_snapshot());
  }
  return answer;
}

Result<void> Recording::begin_snapshot() {
  STACKMAP_TRY(flush());
  const CaptureWriter* const newest = writer_.get();
  STACKMAP_TRY(rotate());
  if (writer_.get() == newest) {
    return answer_snapshot(errno_error_of(EBUSY, "the newest events cannot be set apart"));
  }
  const uint64_t at = pending_->at_ns;
  snapshots_->start(flight_->segments(), options_.before_ns == 0 ? 0 : at - std::min(at, options_.before_ns),
                    options_.after_ns == 0 ? std::numeric_limits<uint64_t>::max() : at + options_.after_ns);
  return {};
}

Result<void> Recording::end_snapshot() {
  return answer_snapshot(snapshots_->finish());
}

// A snapshot that cannot be written is told, and recording goes on.
Result<void> Recording::answer_snapshot(Result<SnapshotDone> done) {
  if (done) {
    hooks_.note(fmt::format("{}: {} events in {}", pending_->why, human_count(done->events), done->path));
    written_.push_back(done->path);
    pending_->answer->path = done->path;
  } else {
    hooks_.note(pending_->why + ": no snapshot: " + done.error().message());
    pending_->answer->path = std::move(done).error();
  }
  pending_->answer->named = true;
  pending_->answer->done = true;
  pending_.reset();
  if (control_) {
    control_->finish_waiting();
  }
  return {};
}

Result<void> Recording::check_triggers() {
  if (triggers_.empty()) {
    return {};
  }
  std::string why;
  uint64_t at = monotonic_ns();
  if (const auto fired = recorder_->take_fired()) {
    why = triggers_[fired->trigger].text();
    at = fired->time_ns;
  }
  const bool on_lost = std::ranges::any_of(triggers_, [](const Trigger& t) { return t.on() == Trigger::On::kLost; });
  if (why.empty() && on_lost) {
    STACKMAP_TRY_VALUE(kernel, bpf_->counters());
    const uint64_t lost = this->lost(kernel);
    for (const Trigger& trigger : triggers_) {
      if (trigger.on() == Trigger::On::kLost && trigger.matches(lost - lost_seen_)) {
        why = trigger.text();
        lost_seen_ = lost;
        break;
      }
    }
  }
  if (!why.empty() && !pending_) {
    STACKMAP_TRY(ask_for_snapshot(why, at));
  }
  return {};
}

// After the end: what was asked for and is not written, what the command's exit asks for, and all if nothing else can
// ask.
Result<void> Recording::last_snapshot() {
  if (snapshots_->busy()) {
    STACKMAP_TRY(end_snapshot());
  }
  std::string why = pending_ ? pending_->why : "";
  uint64_t at = pending_ ? pending_->at_ns : monotonic_ns();
  if (why.empty() && exit_status_) {
    const int code = Command::exit_code(*exit_status_);
    for (const Trigger& trigger : triggers_) {
      if (trigger.on() == Trigger::On::kExit && trigger.matches(static_cast<uint64_t>(code))) {
        why = fmt::format("{} (it was {})", trigger.text(), code);
      }
    }
  }
  if (why.empty() && triggers_.empty()) {
    why = "the end";
  }
  if (why.empty()) {
    return {};
  }
  if (!pending_) {
    pending_ = Pending{why, at, std::make_shared<Snapshot>()};
  }
  snapshots_->start(flight_->segments(), options_.before_ns == 0 ? 0 : at - std::min(at, options_.before_ns),
                    std::numeric_limits<uint64_t>::max());
  STACKMAP_TRY(end_snapshot());
  return {};
}

}  // namespace stackmap
