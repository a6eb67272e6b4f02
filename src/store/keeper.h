// SPDX-License-Identifier: Apache-2.0
// What is kept of a recording: one capture in a file, segments on a disk one after the other, or the newest of them in
// memory. Opens each, says when the next one is due, and has them put on the disk. What goes into them is the writers'
// users' part.
//
// Not thread-safe, but is_full(): beside those who write, though not beside a change of captures.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "capture/capture_writer.h"
#include "store/file_syncer.h"
#include "store/flight_recorder.h"
#include "store/segment_files.h"

namespace stackmap {

class Keeper {
 public:
  struct Options {
    // The one capture's file; called by open().
    std::function<Result<std::unique_ptr<WritableFile>>()> open_file;
    std::string path;  // of that file, for people
    // Not one capture, but these; with flight_bytes they are for snapshots.
    std::optional<SegmentOptions> segments;
    uint64_t flight_bytes = 0;  // keep the newest in this much memory; 0: on the disk
    // What was flushed is put on the disk when this has gone by since it last was; none: when a capture ends.
    std::optional<uint64_t> sync_ns = 0;
    std::function<void(const std::string&)> note;  // for people
  };
  // Opens nothing yet. kUsage for bounds that cannot be kept.
  static Result<std::unique_ptr<Keeper>> create(Options options);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // The first capture. Each has this header, but for the clocks and the numbers of the session and the segment.
  Result<void> open(CaptureInfo info, std::vector<EventType> types);
  // Its age counts from now on.
  void begin();

  // Of the capture that is written.
  CaptureWriter& writer() { return *writer_; }
  std::string path() const;
  // Whether it should end, and another one begin.
  bool is_full() const;

  // To go on in the next capture: open_next(), which gives the same one until it is begun; whatever closes the one that
  // is written; begin_next(), which lets go of that one; close_previous(), if it was closed well.
  Result<CaptureWriter*> open_next();
  void begin_next();
  void close_previous() { store_->close_previous(); }

  // Puts on the disk what was flushed, if it is time to.
  Result<void> sync_if_due();
  // Waits until the one capture is on the disk.
  Result<void> wait_for_disk() { return syncer_.wait(); }
  // The capture that is written was closed well.
  void close_last();

  // Null if nothing is kept in memory.
  FlightRecorder* flight() { return flight_.get(); }
  // Of segments or snapshots; null if there is one capture.
  SegmentFiles* files() { return files_.get(); }

  uint64_t events_written() const { return before_.events + writer_->events_written(); }
  // That were written, or that are held in memory.
  uint64_t bytes() const;

 private:
  explicit Keeper(Options options) : options_(std::move(options)) {}
  Result<std::unique_ptr<CaptureWriter>> open_capture();

  struct Written {
    uint64_t bytes = 0;
    uint64_t events = 0;
  };

  Options options_;
  FileSyncer syncer_;                       // of the one capture
  std::unique_ptr<SegmentFiles> files_;     // segments or snapshots
  std::unique_ptr<FlightRecorder> flight_;  // what is kept in memory
  CaptureStore* store_ = nullptr;           // where captures go: one of these two, or null: there is one capture
  CaptureInfo info_;
  std::vector<EventType> types_;
  std::unique_ptr<CaptureWriter> writer_;
  std::unique_ptr<CaptureWriter> next_writer_;  // opened and not begun
  uint64_t began_ns_ = 0;
  uint64_t synced_ns_ = 0;  // when the capture was last asked to be
  Written before_;          // the captures before the one that is written
};

}  // namespace stackmap
