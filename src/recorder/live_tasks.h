// SPDX-License-Identifier: Apache-2.0
// The threads that are alive, as far as records have told, and which of them the capture that is being written knows
// of.
//
// Memory follows the threads that live, not those that have ever lived: a thread that has exited is forgotten once
// kExitedKept more have exited after it. (Its last events come after its exit: it still switches away and frees
// memory.) Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/result.h"
#include "process/task_table.h"

namespace stackmap {

class LiveTasks {
 public:
  static constexpr size_t kExitedKept = 4096;

  using Find = std::function<Result<TaskRecord>(uint32_t tid, uint64_t time_ns)>;

  // `find` tells what is known of a thread that no record has told of; null: nothing.
  explicit LiveTasks(Find find) : find_(std::move(find)) {}

  // A thread that was there at the start. What a record has told of it before stands.
  void add_seen(TaskRecord record);
  // A fork, exec, rename or exit, which is in the capture. In any order of time. Returns whether a thread was
  // forgotten.
  bool take(const TaskRecord& record);

  // An event tells of a thread. Returns the record that the capture needs for it, of change kSeen; none if it has one
  // already. `tgid` is 0 if the event does not tell.
  std::optional<TaskRecord> meet(uint32_t tid, uint32_t tgid, uint64_t time_ns);

  // From here on records go to another capture, which knows of nobody.
  void start_capture() { ++capture_; }

 private:
  struct Task {
    TaskRecord latest;
    uint64_t capture = 0;  // the last one that has a record of it
    uint64_t exit = 0;     // number of its exit; 0 while it lives
  };

  Find find_;
  std::unordered_map<uint32_t, Task> tasks_;
  std::deque<std::pair<uint64_t, uint32_t>> exited_;  // exit number, thread
  uint64_t exits_ = 0;
  uint64_t capture_ = 1;
};

}  // namespace stackmap
