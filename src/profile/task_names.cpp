// SPDX-License-Identifier: Apache-2.0
#include "profile/task_names.h"

#include <algorithm>
#include <utility>

namespace stackmap {

TaskNames::TaskNames(const TaskTable& tasks) : tasks_(tasks) {
  const std::vector<TaskRecord> records = tasks.records();
  std::vector<uint64_t> times;
  for (size_t i = 0; i < records.size();) {
    const uint32_t tid = records[i].tid;
    times.clear();
    for (; i < records.size() && records[i].tid == tid; ++i) {
      times.push_back(records[i].time_ns);
    }
    add_thread(tid, times);
  }
}

TaskEra TaskNames::era_at(uint32_t tid, uint64_t time_ns) {
  TaskName name = tasks_.name(tid, time_ns);
  const auto [found, added] = comm_ids_.try_emplace(std::move(name.comm), static_cast<uint32_t>(comms_.size()));
  if (added) {
    comms_.push_back(found->first);
  }
  return {time_ns, found->second, name.tgid};
}

// What a thread was called can change only at the times of its records, so the table is asked there and nowhere else.
TaskNames::Eras TaskNames::add_thread(uint32_t tid, const std::vector<uint64_t>& times) {
  const auto first = static_cast<uint32_t>(eras_.size());
  eras_.push_back(era_at(tid, 0));
  for (const uint64_t time : times) {
    const TaskEra era = era_at(tid, time);
    if (era.comm != eras_.back().comm || era.tgid != eras_.back().tgid) {
      eras_.push_back(era);
    }
  }
  const Eras eras{first, static_cast<uint32_t>(eras_.size()) - first};
  by_tid_[tid] = eras;
  return eras;
}

const TaskEra& TaskNames::find(uint32_t tid, uint64_t time_ns) {
  if (tid != last_tid_ || last_.count == 0) {
    const auto found = by_tid_.find(tid);
    last_ = found != by_tid_.end() ? found->second : add_thread(tid, {});
    last_tid_ = tid;
  }
  if (last_.count == 1) {
    return eras_[last_.first];
  }
  const auto begin = eras_.begin() + last_.first;
  const auto end = begin + last_.count;
  const auto after =
      std::upper_bound(begin, end, time_ns, [](uint64_t time, const TaskEra& era) { return time < era.from_ns; });
  // The first era begins at 0, so there is one before.
  return *(after - 1);
}

}  // namespace stackmap
