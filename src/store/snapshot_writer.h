// SPDX-License-Identifier: Apache-2.0
// Writes what a flight recorder holds as one capture, on a thread of its own, while recording goes on. One at a time.
//
// The functions are for one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/file.h"
#include "base/result.h"
#include "store/segment_files.h"

namespace stackmap {

struct SnapshotDone {
  std::string path;
  uint64_t events = 0;
};

class SnapshotWriter {
 public:
  // `files` names the captures, bounds how many there are, and writes their map files. It must outlive this object.
  static Result<std::unique_ptr<SnapshotWriter>> create(SegmentFiles& files);

  ~SnapshotWriter();
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  // The events from `from_ns` to `to_ns` (CLOCK_MONOTONIC) of these captures of one recording. Not while busy().
  void start(std::vector<std::unique_ptr<ReadableFile>> segments, uint64_t from_ns, uint64_t to_ns);
  bool busy() const { return worker_.joinable(); }

  // Readable when one is done.
  int done_fd() const { return done_.get(); }
  // Waits for it, and says how it went.
  Result<SnapshotDone> finish();

 private:
  explicit SnapshotWriter(SegmentFiles& files) : files_(files) {}
  static Result<SnapshotDone> write(SegmentFiles& files, std::vector<std::unique_ptr<ReadableFile>> segments,
                                    uint64_t from_ns, uint64_t to_ns);

  SegmentFiles& files_;
  Fd done_;
  std::optional<Result<SnapshotDone>> result_;  // the worker's until it has ended
  std::thread worker_;
};

}  // namespace stackmap
