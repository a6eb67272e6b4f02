// SPDX-License-Identifier: Apache-2.0
// A recording in segments on a disk: BASE-000001.smc and its map file BASE-000001.map, BASE-000002..., each a whole
// capture. Old ones make room for new ones: the bytes that they take on the disk never exceed what was asked for,
// temporary files included. Their number does so only by those that have ended and are still getting their map file.
//
// Segments that are there already (of an earlier recording of this name) keep their numbers, count, and are the first
// to go. Bytes are those of whole pages of 4 KiB, as most file systems allocate them.
//
// Map files are written, and segments put on the disk, on threads of this object's own. Its functions are for one
// thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "capture/segment_names.h"
#include "store/capture_store.h"
#include "store/file_syncer.h"

namespace stackmap {

struct SegmentOptions {
  std::string base;
  uint64_t rotate_bytes = 0;  // a segment ends at about this size; 0: at any
  uint64_t rotate_ns = 0;     // and at this age; 0: at any
  uint32_t keep = 0;          // segments on the disk, the one that is being written included; 0: all
  uint64_t max_bytes = 0;     // on the disk; 0: no bound
};

class SegmentFiles final : public CaptureStore {
 public:
  static constexpr uint64_t kMinDisk = uint64_t{1} << 20;
  static constexpr uint64_t kMinSegment = uint64_t{64} << 10;

  // `note` is told what a person should know; it is called on both threads. kUsage for bounds that cannot be kept.
  static Result<std::unique_ptr<SegmentFiles>> create(SegmentOptions options,
                                                      std::function<void(const std::string&)> note);
  // Waits for the map files.
  ~SegmentFiles() override;
  SegmentFiles(const SegmentFiles&) = delete;
  SegmentFiles& operator=(const SegmentFiles&) = delete;

  Result<std::unique_ptr<WritableFile>> open_next() override;
  uint64_t segment() const override { return last_; }
  bool is_full(uint64_t bytes, uint64_t age_ns) const override;
  void close_previous() override { complete(last_ - 1); }
  void close_last() override { complete(last_); }

  // The capture that was opened last could not be made: it goes.
  void abandon();

  // Waits until every map file is written.
  void finish();
  uint64_t disk_bytes() const;  // of all segments now
  uint64_t removed() const;     // segments that have made room
  uint64_t opened() const { return opened_; }

 private:
  struct Entry {
    uint64_t number = 0;
    uint64_t bytes = 0;  // of both files
    bool busy = false;   // being written, or its map is
  };
  class ChargedFile;

  SegmentFiles(SegmentOptions options, std::function<void(const std::string&)> note);
  std::string path(uint64_t number, const char* suffix) const;
  Result<void> charge(uint64_t number, uint64_t bytes, uint64_t spare);
  void release(uint64_t number, uint64_t bytes);
  bool remove_oldest();
  void keep_newest(size_t more);
  void complete(uint64_t number);
  void write_maps(const std::stop_token& stop);
  Result<void> write_map(uint64_t number);

  SegmentOptions options_;
  std::function<void(const std::string&)> note_;
  uint64_t last_ = 0;
  uint64_t opened_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Entry> entries_;   // under mutex_
  std::deque<uint64_t> queue_;  // closed, and without a map file yet; under mutex_
  uint64_t used_ = 0;           // under mutex_
  uint64_t removed_ = 0;        // under mutex_
  FileSyncer syncer_;
  std::jthread worker_;  // last: it uses all of the above
};

}  // namespace stackmap
