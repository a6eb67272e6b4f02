// SPDX-License-Identifier: Apache-2.0
// What a text says of threads, event by event, as the records of a capture. A thread's name is the one at its first
// event, until an event shows another one. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "process/task_table.h"

namespace stackmap {

class ThreadNames {
 public:
  // At an event of the thread. An empty name and a process of 0 are not known; thread 0 is idle and has no record.
  void see(uint64_t time_ns, uint32_t tid, uint32_t tgid, std::string_view comm);
  const std::vector<TaskRecord>& records() const { return records_; }

 private:
  std::vector<TaskRecord> records_;
  std::unordered_map<uint32_t, size_t> last_;  // tid -> its last record
};

}  // namespace stackmap
