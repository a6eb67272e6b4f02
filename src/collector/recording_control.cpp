// SPDX-License-Identifier: Apache-2.0
// What the control socket asks of a recording. Each command first takes what is in the rings: that was recorded before
// it.
#include "base/clock.h"
#include "base/log.h"
#include "collector/recording.h"

namespace stackmap {

Result<void> Recording::reset() {
  STACKMAP_TRY(drain());
  return recorder_->reset_map();
}

Result<void> Recording::on() {
  STACKMAP_TRY(drain());
  return map_->on();
}

Result<void> Recording::off() {
  STACKMAP_TRY(drain());
  map_->off();
  return {};
}

Result<std::weak_ptr<const Generation>> Recording::free() {
  STACKMAP_TRY(drain());
  return recorder_->free_map();
}

std::string Recording::stat() {
  // Up to date, and the session's own counters handed in.
  if (auto drained = drain(); !drained) {
    log_warning(drained.error().message());
  }
  return stats_text(map_->stats());
}

std::shared_ptr<const Generation> Recording::map() {
  if (auto drained = drain(); !drained) {
    log_warning(drained.error().message());
  }
  return map_->snapshot();
}

std::string Recording::frame_text(uint64_t address) {
  if (namer_ != nullptr) {
    if (const auto symbol = namer_->name(std::span(&address, 1), AddressKind::kReturn)) {
      return symbol->front().text(address);
    }
  }
  return KernelSymbol{}.text(address);
}

Result<std::shared_ptr<const Recording::Snapshot>> Recording::snapshot() {
  if (flight_) {
    return ask_for_snapshot("ctl snapshot", monotonic_ns());
  }
  STACKMAP_TRY(flush());
  auto done = std::make_shared<Snapshot>();
  done->done = true;
  done->path = store_ != nullptr ? segment_path(options_.segments->base, store_->segment()) : hooks_.capture_path;
  return std::shared_ptr<const Snapshot>(std::move(done));
}

}  // namespace stackmap
