// SPDX-License-Identifier: Apache-2.0
// What the control socket asks of a recording. Each command first takes what is in the batches and rings: that was
// recorded before it.
#include "base/clock.h"
#include "base/log.h"
#include "capture/losses.h"
#include "collector/recording.h"

namespace stackmap {

Result<void> Recording::reset() {
  STACKMAP_TRY(settle());
  return recorder_->reset_map();
}

Result<void> Recording::on() {
  STACKMAP_TRY(settle());
  STACKMAP_TRY(map_->on());
  recorder_->follow_map();
  return {};
}

Result<void> Recording::off() {
  STACKMAP_TRY(settle());
  map_->off();
  recorder_->follow_map();
  return {};
}

Result<std::weak_ptr<const Generation>> Recording::free() {
  STACKMAP_TRY(settle());
  return recorder_->free_map();
}

std::string Recording::stat() {
  // Up to date, and the session's own counters handed in.
  if (auto drained = settle(); !drained) {
    log_warning(drained.error().message());
  }
  const auto kernel = bpf_->counters();
  if (!kernel) {
    log_warning(kernel.error().message());
  }
  return kernel ? stat_text(recorder_->ledger(*kernel)) : std::string();
}

std::shared_ptr<const Generation> Recording::map() {
  if (auto drained = settle(); !drained) {
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
