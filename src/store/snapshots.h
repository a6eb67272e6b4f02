// SPDX-License-Identifier: Apache-2.0
// The snapshots of a flight recorder: who has asked for one, what it holds, and how it went. One at a time; each is
// written on a thread of its own, while recording goes on. One that cannot be written is told, and is no error.
//
// The functions are for one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/flight_recorder.h"
#include "store/segment_files.h"
#include "store/snapshot_writer.h"

namespace stackmap {

// What was asked for is written to a capture; its path is there once it is.
struct SnapshotAnswer {
  bool done = false;
  Result<std::string> path = std::string();
  bool named = false;  // a map file is put beside it
};

class Snapshots {
 public:
  struct Options {
    uint64_t before_ns = 0;  // what a snapshot holds of the time before it was asked for; 0: all there is
    uint64_t after_ns = 0;   // and after; 0: what there is by then
    std::function<void(const std::string&)> note;  // for people
  };
  // Both must outlive this object; `files` takes the snapshots.
  static Result<std::unique_ptr<Snapshots>> create(Options options, const FlightRecorder& flight, SegmentFiles& files);

  // One is to be written, of the time around `at_ns`: begin() follows when after_ns() have gone by, or give_up().
  // EBUSY while there is another. `why` is for people.
  Result<std::shared_ptr<const SnapshotAnswer>> ask(const std::string& why, uint64_t at_ns);
  bool pending() const { return pending_.has_value(); }
  uint64_t after_ns() const { return options_.after_ns; }
  // Begins to write what is complete in the flight recorder now.
  void begin();
  void give_up(Error error);
  // Readable when it is written: time for end().
  int done_fd() const { return writer_->done_fd(); }
  void end();

  // The recording has ended. Waits for what is being written; then writes what was asked for, or what `why` asks for.
  void last(const std::optional<std::string>& why);

  // The paths of those that were written.
  const std::vector<std::string>& written() const { return written_; }

 private:
  Snapshots(Options options, const FlightRecorder& flight) : options_(std::move(options)), flight_(flight) {}
  void start_writing(uint64_t to_ns);
  void answer(Result<SnapshotDone> done);

  struct Pending {
    std::string why;
    uint64_t at_ns = 0;
    std::shared_ptr<SnapshotAnswer> answer;
  };

  Options options_;
  const FlightRecorder& flight_;
  std::unique_ptr<SnapshotWriter> writer_;
  std::optional<Pending> pending_;  // asked for and not written yet
  std::vector<std::string> written_;
};

}  // namespace stackmap
