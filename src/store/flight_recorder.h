// SPDX-License-Identifier: Apache-2.0
// Keeps the newest captures of a recording in a fixed amount of memory, the oldest dropped first. Each holds the tables
// that its events need, so dropping one takes its stacks with it, and memory stays flat for ever.
//
// Thread-safe as far as segments(): what it returns may be read on another thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "store/capture_store.h"

namespace stackmap {

class FlightRecorder final : public CaptureStore {
 public:
  static constexpr uint64_t kMinBytes = uint64_t{64} << 10;
  // A capture is an eighth of the whole: so much goes at a time.
  static constexpr uint64_t kSegments = 8;

  // `bytes` bounds all that is kept, tables and headers included; at least kMinBytes. What segments() returned is held
  // by its readers on top of that.
  explicit FlightRecorder(uint64_t bytes);

  Result<std::unique_ptr<WritableFile>> open_next() override;
  uint64_t segment() const override { return opened_; }
  bool is_full(uint64_t bytes, uint64_t age_ns) const override;
  void close_previous() override { complete(1); }
  void close_last() override { complete(0); }

  // Raw bytes of a block of events that suit a memory of this size.
  size_t block_bytes() const;
  // The captures that are complete, oldest first.
  std::vector<std::unique_ptr<ReadableFile>> segments() const;
  uint64_t bytes() const { return bytes_; }  // held now

 private:
  struct Segment;
  class Writer;
  class Reader;
  Result<void> make_room(uint64_t bytes);
  void complete(size_t open);  // all but the newest `open` captures

  uint64_t limit_;
  uint64_t bytes_ = 0;
  uint64_t opened_ = 0;
  std::deque<std::shared_ptr<Segment>> segments_;
};

}  // namespace stackmap
