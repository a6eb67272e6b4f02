// SPDX-License-Identifier: Apache-2.0
// The task table in a form that answers once an event: what a thread was called at a time, as small numbers.
//
// A lookup costs a hash probe, and a binary search only for threads that changed their name or process.
// Not thread-safe: a thread that the table does not know is added when it is first asked for.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/capture.h"

namespace stackmap {

struct TaskEra {
  uint64_t from_ns = 0;  // until the next era of the thread
  uint32_t comm = 0;     // index for TaskNames::comm()
  uint32_t tgid = 0;
};

class TaskNames {
 public:
  // The table must outlive this object and must not change.
  explicit TaskNames(const TaskTable& tasks);

  // The reference is valid until the next call.
  const TaskEra& find(uint32_t tid, uint64_t time_ns);
  const std::string& comm(uint32_t index) const { return comms_[index]; }
  size_t comm_count() const { return comms_.size(); }

 private:
  struct Eras {
    uint32_t first = 0;
    uint32_t count = 0;
  };
  TaskEra era_at(uint32_t tid, uint64_t time_ns);
  Eras add_thread(uint32_t tid, const std::vector<uint64_t>& times);

  const TaskTable& tasks_;
  std::vector<std::string> comms_;
  std::unordered_map<std::string, uint32_t> comm_ids_;
  std::vector<TaskEra> eras_;
  std::unordered_map<uint32_t, Eras> by_tid_;
  // Neighbouring events are often of one thread.
  uint32_t last_tid_ = 0;
  Eras last_;
};

}  // namespace stackmap
