// SPDX-License-Identifier: Apache-2.0
// Who was who, and when: the history of every thread's name and process, by time.
//
// Records may be added in any order of time (each CPU's ring is drained on its own). Lookups are by thread and time.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace stackmap {

enum class TaskChange : uint8_t {
  kSeen = 0,  // known from /proc; holds from the beginning until a later record says otherwise
  kFork = 1,
  kExec = 2,
  kRename = 3,
  kExit = 4,
};

struct TaskRecord {
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  TaskChange change = TaskChange::kSeen;
  uint32_t tid = 0;
  uint32_t tgid = 0;   // 0 if not known
  uint32_t ptgid = 0;  // of the parent; 0 if not known
  std::string comm;    // at most 15 bytes, any bytes but NUL; empty if not known (kExit)
  bool operator==(const TaskRecord&) const = default;
};

struct TaskName {
  // "<idle>" for thread 0, "<...>" for a thread that nothing is known of (both as ftrace prints them).
  std::string comm;
  uint32_t tgid = 0;  // the thread's own number if nothing is known
};

class TaskTable {
 public:
  void add(TaskRecord record);
  // What held for `tid` at `time_ns`: the last record at or before it, else the first one after it.
  // The reference is valid until the next add().
  const TaskRecord* find(uint32_t tid, uint64_t time_ns) const;
  TaskName name(uint32_t tid, uint64_t time_ns) const;
  // Every record, by thread and time.
  std::vector<TaskRecord> records() const;

 private:
  // Each sorted by time; records of the same time stay in the order they were added.
  std::unordered_map<uint32_t, std::vector<TaskRecord>> by_tid_;
};

// Every thread of this machine, as kSeen records of the given time. A thread that goes away while it is read is left
// out.
Result<std::vector<TaskRecord>> read_proc_tasks(uint64_t time_ns, const std::string& proc = "/proc");
// One thread; kNotFound if it is gone.
Result<TaskRecord> read_proc_task(uint32_t tid, uint64_t time_ns, const std::string& proc = "/proc");
// The threads of a process.
Result<std::vector<uint32_t>> read_proc_threads(uint32_t tgid, const std::string& proc = "/proc");

}  // namespace stackmap
