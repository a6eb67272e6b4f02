// SPDX-License-Identifier: Apache-2.0
#include "process/task_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stackmap {

namespace {

using History = std::vector<TaskRecord>;

bool is_before(uint64_t time_ns, const TaskRecord& record) {
  return time_ns < record.time_ns;
}

// Index of what held at `time_ns`. The history must not be empty.
size_t index_at(const History& history, uint64_t time_ns) {
  const auto after = std::upper_bound(history.begin(), history.end(), time_ns, is_before);
  return after == history.begin() ? 0 : static_cast<size_t>(std::distance(history.begin(), after)) - 1;
}

// The record nearest to `at` that `knows`, in the same life of the thread number: first at or before it, then after it.
// A life runs from a fork to an exit; a number is given to another thread after that. Null if there is none.
template <typename Knows>
const TaskRecord* nearest(const History& history, size_t at, Knows knows) {
  for (size_t i = at;; --i) {
    if (knows(history[i])) {
      return &history[i];
    }
    if (i == 0 || history[i].change == TaskChange::kFork || history[i - 1].change == TaskChange::kExit) {
      break;
    }
  }
  for (size_t i = at; history[i].change != TaskChange::kExit && i + 1 < history.size();) {
    ++i;
    if (history[i].change == TaskChange::kFork) {
      break;
    }
    if (knows(history[i])) {
      return &history[i];
    }
  }
  return nullptr;
}

}  // namespace

void TaskTable::add(TaskRecord record) {
  History& history = by_tid_[record.tid];
  const auto at = std::upper_bound(history.begin(), history.end(), record.time_ns, is_before);
  history.insert(at, std::move(record));
}

const TaskRecord* TaskTable::find(uint32_t tid, uint64_t time_ns) const {
  const auto found = by_tid_.find(tid);
  if (found == by_tid_.end()) {
    return nullptr;
  }
  return &found->second[index_at(found->second, time_ns)];
}

TaskName TaskTable::name(uint32_t tid, uint64_t time_ns) const {
  if (tid == 0) {
    return {"<idle>", 0};
  }
  TaskName name{"<...>", tid};
  const auto found = by_tid_.find(tid);
  if (found == by_tid_.end()) {
    return name;
  }
  const History& history = found->second;
  const size_t at = index_at(history, time_ns);
  if (const TaskRecord* known = nearest(history, at, [](const TaskRecord& r) { return !r.comm.empty(); })) {
    name.comm = known->comm;
  }
  if (const TaskRecord* known = nearest(history, at, [](const TaskRecord& r) { return r.tgid != 0; })) {
    name.tgid = known->tgid;
  }
  return name;
}

std::vector<TaskRecord> TaskTable::records() const {
  std::vector<uint32_t> tids;
  tids.reserve(by_tid_.size());
  size_t total = 0;
  for (const auto& [tid, history] : by_tid_) {
    tids.push_back(tid);
    total += history.size();
  }
  std::sort(tids.begin(), tids.end());
  std::vector<TaskRecord> all;
  all.reserve(total);
  for (const uint32_t tid : tids) {
    const History& history = by_tid_.at(tid);
    all.insert(all.end(), history.begin(), history.end());
  }
  return all;
}

}  // namespace stackmap
