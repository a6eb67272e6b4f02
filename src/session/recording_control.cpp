// SPDX-License-Identifier: Apache-2.0
#include "session/recording_control.h"

#include "base/clock.h"
#include "base/log.h"
#include "capture/losses.h"

namespace stackmap {

Result<void> RecordingControl::reset() {
  STACKMAP_TRY(flow_.settle());
  return flow_.recorder().reset_map();
}

Result<void> RecordingControl::on() {
  STACKMAP_TRY(flow_.settle());
  STACKMAP_TRY(flow_.map().on());
  flow_.recorder().follow_map();
  return {};
}

Result<void> RecordingControl::off() {
  STACKMAP_TRY(flow_.settle());
  flow_.map().off();
  flow_.recorder().follow_map();
  return {};
}

Result<std::weak_ptr<const Generation>> RecordingControl::free() {
  STACKMAP_TRY(flow_.settle());
  return flow_.recorder().free_map();
}

// Whoever reads gets what there is, also after an error.
void RecordingControl::settle_for_readers() {
  if (auto settled = flow_.settle(); !settled) {
    log_warning(settled.error().message());
  }
}

std::string RecordingControl::stat() {
  // Up to date, and the session's own counters handed in.
  settle_for_readers();
  const auto ledger = flow_.ledger();
  if (!ledger) {
    log_warning(ledger.error().message());
    return {};
  }
  return stat_text(*ledger);
}

std::shared_ptr<const Generation> RecordingControl::map() {
  settle_for_readers();
  return flow_.map().snapshot();
}

std::string RecordingControl::frame_text(uint64_t address) {
  if (namer_ != nullptr) {
    if (const auto symbol = namer_->name(std::span(&address, 1), AddressKind::kReturn)) {
      return symbol->front().text(address);
    }
  }
  return KernelSymbol{}.text(address);
}

Result<std::shared_ptr<const SnapshotAnswer>> RecordingControl::snapshot() {
  if (taker_) {
    return taker_->ask("ctl snapshot", monotonic_ns());
  }
  STACKMAP_TRY(flow_.flush());
  auto done = std::make_shared<SnapshotAnswer>();
  done->done = true;
  done->path = flow_.keeper().path();
  return std::shared_ptr<const SnapshotAnswer>(std::move(done));
}

}  // namespace stackmap
