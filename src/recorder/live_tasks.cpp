// SPDX-License-Identifier: Apache-2.0
#include "recorder/live_tasks.h"

namespace stackmap {

void LiveTasks::add_seen(TaskRecord record) {
  const uint32_t tid = record.tid;
  tasks_.try_emplace(tid, Task{std::move(record), 0, 0});
}

bool LiveTasks::take(const TaskRecord& record) {
  Task& task = tasks_[record.tid];
  if (record.time_ns < task.latest.time_ns) {
    // Each CPU's ring is read on its own: what is told late may be old news. It is in the capture, by its time.
    if (record.change == TaskChange::kFork && task.latest.ptgid == 0) {
      task.latest.ptgid = record.ptgid;
    }
    if (task.latest.comm.empty()) {
      task.latest.comm = record.comm;
    }
    return false;
  }
  const uint32_t parent = record.change == TaskChange::kFork ? record.ptgid : task.latest.ptgid;
  const std::string comm = record.comm.empty() ? task.latest.comm : record.comm;
  task.latest = record;
  task.latest.ptgid = parent;
  task.latest.comm = comm;
  task.capture = capture_;
  task.exit = 0;
  if (record.change != TaskChange::kExit) {
    return false;
  }
  task.exit = ++exits_;
  exited_.emplace_back(exits_, record.tid);
  if (exited_.size() > kExitedKept) {
    const auto [number, tid] = exited_.front();
    exited_.pop_front();
    // Its number may be another thread's by now.
    if (const auto it = tasks_.find(tid); it != tasks_.end() && it->second.exit == number) {
      tasks_.erase(it);
      return true;
    }
  }
  return false;
}

std::optional<TaskRecord> LiveTasks::meet(uint32_t tid, uint32_t tgid, uint64_t time_ns) {
  if (tid == 0) {
    return std::nullopt;
  }
  const auto [it, is_new] = tasks_.try_emplace(tid);
  Task& task = it->second;
  if (task.capture == capture_) {
    return std::nullopt;
  }
  if (is_new && find_) {
    if (auto found = find_(tid, time_ns)) {
      task.latest = std::move(found).value();
    }
  }
  task.capture = capture_;
  task.latest.time_ns = time_ns;
  task.latest.change = TaskChange::kSeen;
  task.latest.tid = tid;
  if (tgid != 0) {
    task.latest.tgid = tgid;
  }
  return task.latest;
}

}  // namespace stackmap
