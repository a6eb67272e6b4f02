// SPDX-License-Identifier: Apache-2.0
#include "import/thread_names.h"

#include <string>

namespace stackmap {

void ThreadNames::see(uint64_t time_ns, uint32_t tid, uint32_t tgid, std::string_view comm) {
  if (tid == 0 || (comm.empty() && tgid == 0)) {
    return;
  }
  const auto [last, is_new] = last_.try_emplace(tid, records_.size());
  if (!is_new) {
    const TaskRecord& before = records_[last->second];
    if ((comm.empty() || comm == before.comm) && (tgid == 0 || tgid == before.tgid)) {
      return;
    }
    last->second = records_.size();
  }
  const TaskChange change = is_new ? TaskChange::kSeen : TaskChange::kRename;
  records_.push_back({time_ns, change, tid, tgid, 0, std::string(comm)});
}

}  // namespace stackmap
