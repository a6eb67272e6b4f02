// SPDX-License-Identifier: Apache-2.0
#include "store/snapshots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/text.h"

namespace stackmap {

Result<std::unique_ptr<Snapshots>> Snapshots::create(Options options, const FlightRecorder& flight,
                                                     SegmentFiles& files) {
  std::unique_ptr<Snapshots> snapshots(new Snapshots(std::move(options), flight));
  STACKMAP_TRY_VALUE(writer, SnapshotWriter::create(files));
  snapshots->writer_ = std::move(writer);
  return snapshots;
}

Result<std::shared_ptr<const SnapshotAnswer>> Snapshots::ask(const std::string& why, uint64_t at_ns) {
  if (pending_) {
    return errno_error_of(EBUSY, "a snapshot (" + pending_->why + ") is being written; none for " + why);
  }
  pending_ = Pending{why, at_ns, std::make_shared<SnapshotAnswer>()};
  if (options_.after_ns != 0) {
    options_.note(fmt::format("{}: a snapshot follows in {:.1f} s", why, static_cast<double>(options_.after_ns) / 1e9));
  }
  return std::shared_ptr<const SnapshotAnswer>(pending_->answer);
}

void Snapshots::begin() {
  start_writing(options_.after_ns == 0 ? std::numeric_limits<uint64_t>::max() : pending_->at_ns + options_.after_ns);
}

void Snapshots::start_writing(uint64_t to_ns) {
  const uint64_t at = pending_->at_ns;
  writer_->start(flight_.segments(), options_.before_ns == 0 ? 0 : at - std::min(at, options_.before_ns), to_ns);
}

void Snapshots::give_up(Error error) {
  answer(std::move(error));
}

void Snapshots::end() {
  answer(writer_->finish());
}

void Snapshots::answer(Result<SnapshotDone> done) {
  if (done) {
    options_.note(fmt::format("{}: {} events in {}", pending_->why, human_count(done->events), done->path));
    written_.push_back(done->path);
    pending_->answer->path = done->path;
  } else {
    options_.note(pending_->why + ": no snapshot: " + done.error().message());
    pending_->answer->path = std::move(done).error();
  }
  pending_->answer->named = true;
  pending_->answer->done = true;
  pending_.reset();
}

void Snapshots::last(const std::optional<std::string>& why) {
  if (writer_->busy()) {
    end();
  }
  if (!pending_ && why) {
    pending_ = Pending{*why, monotonic_ns(), std::make_shared<SnapshotAnswer>()};
  }
  if (pending_) {
    start_writing(std::numeric_limits<uint64_t>::max());
    end();
  }
}

}  // namespace stackmap
