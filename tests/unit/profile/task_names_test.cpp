// SPDX-License-Identifier: Apache-2.0
#include "profile/task_names.h"

#include "support/catch.h"

namespace stackmap {

TEST_CASE("what a thread is called follows time as the task table has it", "[task_names]") {
  TaskTable table;
  table.add({100, TaskChange::kFork, 5, 5, 1, "bash"});
  table.add({200, TaskChange::kExec, 5, 5, 0, "make"});
  table.add({200, TaskChange::kRename, 5, 5, 0, "gcc"});
  table.add({300, TaskChange::kRename, 5, 5, 0, "gcc"});
  table.add({400, TaskChange::kExit, 5, 5, 0, ""});
  table.add({500, TaskChange::kFork, 5, 9, 1, "reused"});
  table.add({0, TaskChange::kSeen, 6, 6, 1, "one"});
  table.add({100, TaskChange::kFork, 8, 8, 1, "same"});
  table.add({200, TaskChange::kExit, 8, 8, 0, ""});
  table.add({300, TaskChange::kFork, 8, 80, 1, "same"});
  TaskNames names(table);
  for (const uint32_t tid : {0U, 5U, 6U, 8U, 77U}) {
    for (const uint64_t time : std::vector<uint64_t>{0, 99, 100, 150, 199, 200, 299, 300, 399, 400, 499, 500, 9999}) {
      const TaskEra& era = names.find(tid, time);
      CAPTURE(tid, time);
      CHECK(names.comm(era.comm) == table.name(tid, time).comm);
      CHECK(era.tgid == table.name(tid, time).tgid);
    }
  }
  CHECK(names.comm(names.find(5, 150).comm) == "bash");
  CHECK(names.comm(names.find(5, 250).comm) == "gcc");
  CHECK(names.find(5, 600).tgid == 9);
  CHECK(names.find(8, 250).tgid == 8);
  CHECK(names.find(8, 300).tgid == 80);
}

TEST_CASE("equal names share a number", "[task_names]") {
  TaskTable table;
  table.add({0, TaskChange::kSeen, 1, 1, 0, "worker"});
  table.add({0, TaskChange::kSeen, 2, 1, 0, "worker"});
  TaskNames names(table);
  const uint32_t first = names.find(1, 5).comm;
  CHECK(names.find(2, 5).comm == first);
  CHECK(names.comm_count() == 1);
}

}  // namespace stackmap
