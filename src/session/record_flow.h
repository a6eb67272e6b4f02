// SPDX-License-Identifier: Apache-2.0
// The way of the records of one recording: from the source through the recorder and the stack map into what is kept.
//
// For one thread, while the source's readers pause.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/ledger.h"
#include "record/record_source.h"
#include "recorder/recorder.h"
#include "session/recording_options.h"
#include "stackmap/stack_map.h"
#include "store/keeper.h"

namespace stackmap {

class RecordFlow {
 public:
  // The source must outlive this object, which is its only user.
  explicit RecordFlow(RecordSource& source) : source_(source) {}
  RecordFlow(const RecordFlow&) = delete;
  RecordFlow& operator=(const RecordFlow&) = delete;

  // Makes the source ready, and the map.
  Result<void> open_source(const RecordingOptions& options, const std::function<void(const std::string&)>& note);
  // Makes the recorder, and the first capture: `info` has all but the depth of stacks. `recorder` is
  // completed by the source's cache and its readers.
  Result<void> open_recorder(Recorder::Options recorder, CaptureInfo info, Keeper::Options keep);
  // From here on events are recorded, and the times of progress() count.
  void start();
  // Starts the readers of the source, where they have threads of their own.
  Result<void> read();

  // What the source asks for; and then what a reader cannot do.
  Result<void> attend();
  // Hands all that was recorded by now to the recorder.
  Result<void> settle();
  // Also writes it, with the ledger as of now.
  Result<void> flush();
  Result<void> rotate_if_full();
  enum class Rotated : uint8_t {
    kDone,
    kNotYet,  // readers hold too many generations of the map: the capture grows until they let go
  };
  // Ends the capture and goes on in the next one.
  Result<Rotated> rotate();
  // Gives back memory that can be had again.
  Result<void> shed_memory();

  Progress progress(const std::vector<KernelEventCounters>& kernel) const;
  Result<Progress> progress() const;
  // Of the whole recording, as of now.
  Result<Ledger> ledger() const;

  struct Closed {
    Ledger ledger;
    Progress total;
  };
  // After the source's stop(): reads what is left and closes the capture. The error says how much of it is good.
  Result<Closed> close();

  RecordSource& source() { return source_; }
  StackMap& map() { return *map_; }
  const StackMap& map() const { return *map_; }
  Recorder& recorder() { return *recorder_; }
  Keeper& keeper() { return *keeper_; }
  // The first error of writing, if there was one.
  Result<void> status() const;

 private:
  RecordCallbacks callbacks_of(size_t reader);

  RecordSource& source_;
  std::unique_ptr<StackMap> map_;
  std::unique_ptr<Keeper> keeper_;
  std::unique_ptr<Recorder> recorder_;
  uint64_t started_ns_ = 0;
};

}  // namespace stackmap
