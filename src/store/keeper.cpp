// SPDX-License-Identifier: Apache-2.0
#include "store/keeper.h"

#include <random>
#include <utility>

#include "base/clock.h"

namespace stackmap {

namespace {

uint64_t random_number() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

Result<std::unique_ptr<Keeper>> Keeper::create(Options options) {
  std::unique_ptr<Keeper> keeper(new Keeper(std::move(options)));
  if (keeper->options_.segments) {
    STACKMAP_TRY_VALUE(files, SegmentFiles::create(*keeper->options_.segments, keeper->options_.note));
    keeper->files_ = std::move(files);
    keeper->store_ = keeper->files_.get();
  }
  if (keeper->options_.flight_bytes != 0) {
    keeper->flight_ = std::make_unique<FlightRecorder>(keeper->options_.flight_bytes);
    keeper->store_ = keeper->flight_.get();
  }
  return keeper;
}

Result<void> Keeper::open(CaptureInfo info, std::vector<EventType> types) {
  info_ = std::move(info);
  info_.session = store_ != nullptr ? random_number() : 0;
  types_ = std::move(types);
  STACKMAP_TRY_VALUE(writer, open_capture());
  writer_ = std::move(writer);
  begin();
  return {};
}

// The file of a capture, with its header.
Result<std::unique_ptr<CaptureWriter>> Keeper::open_capture() {
  info_.anchors = {clock_anchor()};
  CaptureWriter::Options writer_options;
  if (flight_) {
    writer_options.block_bytes = flight_->block_bytes();
  }
  if (store_ == nullptr) {
    STACKMAP_TRY_VALUE(file, options_.open_file());
    return CaptureWriter::create(syncer_.wrap(std::move(file)), info_, types_, writer_options);
  }
  STACKMAP_TRY_VALUE(file, store_->open_next());
  info_.segment = store_->segment();
  return CaptureWriter::create(std::move(file), info_, types_, writer_options);
}

void Keeper::begin() {
  began_ns_ = monotonic_ns();
}

std::string Keeper::path() const {
  return store_ != nullptr ? segment_path(options_.segments->base, store_->segment()) : options_.path;
}

bool Keeper::is_full() const {
  return store_ != nullptr && store_->is_full(writer_->bytes_written(), monotonic_ns() - began_ns_);
}

Result<CaptureWriter*> Keeper::open_next() {
  if (!next_writer_) {
    STACKMAP_TRY_VALUE(writer, open_capture());
    next_writer_ = std::move(writer);
  }
  return next_writer_.get();
}

void Keeper::begin_next() {
  before_.events += writer_->events_written();
  before_.bytes += writer_->bytes_written();
  writer_ = std::move(next_writer_);
  begin();
}

Result<void> Keeper::sync_if_due() {
  const uint64_t now = monotonic_ns();
  if (!options_.sync_ns || now - synced_ns_ < *options_.sync_ns) {
    return {};
  }
  synced_ns_ = now;
  return writer_->sync();
}

void Keeper::close_last() {
  if (store_ != nullptr) {
    store_->close_last();
  }
}

uint64_t Keeper::bytes() const {
  return flight_ ? flight_->bytes() : before_.bytes + writer_->bytes_written();
}

}  // namespace stackmap
