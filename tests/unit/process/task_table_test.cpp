// SPDX-License-Identifier: Apache-2.0
#include "process/task_table.h"

#include <algorithm>
#include <map>
#include <random>

#include "support/catch.h"

using namespace stackmap;

namespace {

TaskRecord record(uint64_t time_ns, TaskChange change, const std::string& comm, uint32_t tid = 10, uint32_t tgid = 9) {
  return {time_ns, change, tid, tgid, 1, comm};
}

std::string comm_at(const TaskTable& table, uint64_t time_ns, uint32_t tid = 10) {
  return table.name(tid, time_ns).comm;
}

}  // namespace

TEST_CASE("the idle task and unknown threads are named as ftrace names them") {
  TaskTable table;
  CHECK(table.name(0, 5).comm == "<idle>");
  CHECK(table.name(0, 5).tgid == 0);
  CHECK(table.name(77, 5).comm == "<...>");
  CHECK(table.name(77, 5).tgid == 77);
  CHECK(table.find(77, 5) == nullptr);
  // swapper/N, one a CPU, share the number 0: they stay one.
  table.add(record(1, TaskChange::kSeen, "swapper/3", 0, 0));
  CHECK(table.name(0, 5).comm == "<idle>");
}

TEST_CASE("a name holds from its record to the next") {
  TaskTable table;
  table.add(record(100, TaskChange::kFork, "sh"));
  table.add(record(200, TaskChange::kExec, "make"));
  table.add(record(300, TaskChange::kRename, "maker"));
  CHECK(comm_at(table, 0) == "sh");  // the first record, for want of an earlier one
  CHECK(comm_at(table, 100) == "sh");
  CHECK(comm_at(table, 199) == "sh");
  CHECK(comm_at(table, 200) == "make");
  CHECK(comm_at(table, 299) == "make");
  CHECK(comm_at(table, 300) == "maker");
  CHECK(comm_at(table, UINT64_MAX) == "maker");
  CHECK(table.name(10, 250).tgid == 9);
  CHECK(table.records().size() == 3);
}

TEST_CASE("records of one time stay in the order they were added, and the last of them holds") {
  TaskTable table;
  table.add(record(5, TaskChange::kFork, "first"));
  table.add(record(5, TaskChange::kExec, "second"));
  table.add(record(4, TaskChange::kSeen, "before"));
  CHECK(comm_at(table, 5) == "second");
  REQUIRE(table.records().size() == 3);
  CHECK(table.records()[1].comm == "first");
  CHECK(table.records()[2].comm == "second");
}

TEST_CASE("records in any order of time give the same table") {
  std::vector<TaskRecord> records;
  for (uint32_t i = 0; i < 200; ++i) {
    records.push_back(record(i * 10, TaskChange::kRename, std::to_string(i), 1 + i % 7, 1));
  }
  auto shuffled = records;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(3));
  TaskTable table;
  for (const auto& r : shuffled) {
    table.add(r);
  }
  std::stable_sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.tid < b.tid; });
  CHECK(table.records() == records);
  // Against a plain search for the last record at or before, else the first after.
  for (uint32_t tid = 1; tid <= 7; ++tid) {
    for (uint64_t time = 0; time < 2010; time += 3) {
      const TaskRecord* expected = nullptr;
      for (const auto& r : records) {
        if (r.tid == tid && (r.time_ns <= time || expected == nullptr)) {
          expected = &r;
        }
      }
      REQUIRE(*table.find(tid, time) == *expected);
    }
  }
}

TEST_CASE("a thread keeps its name while it exits") {
  TaskTable table;
  table.add(record(10, TaskChange::kSeen, "worker"));
  table.add(record(50, TaskChange::kExit, "", 10, 0));
  CHECK(table.find(10, 60)->change == TaskChange::kExit);
  CHECK(comm_at(table, 60) == "worker");  // its last switch comes after its exit event
  CHECK(table.name(10, 60).tgid == 9);
}

TEST_CASE("a thread number that is used again does not inherit the old name") {
  TaskTable table;
  table.add(record(10, TaskChange::kSeen, "old"));
  table.add(record(50, TaskChange::kExit, "", 10, 0));
  table.add(record(70, TaskChange::kFork, "", 10, 0));
  CHECK(comm_at(table, 80) == "<...>");
  CHECK(table.name(10, 80).tgid == 10);
  table.add(record(90, TaskChange::kExec, "new", 10, 30));
  CHECK(comm_at(table, 80) == "new");  // of this life, if later
  CHECK(table.name(10, 80).tgid == 30);
  CHECK(comm_at(table, 60) == "old");
  CHECK(comm_at(table, 95) == "new");
}

TEST_CASE("a fork begins a life though the exit before it was lost") {
  TaskTable table;
  table.add(record(10, TaskChange::kSeen, "old"));
  table.add(record(70, TaskChange::kFork, "", 10, 0));
  CHECK(comm_at(table, 80) == "<...>");
  CHECK(table.name(10, 80).tgid == 10);
}

TEST_CASE("an exit ends a life though the fork after it was lost") {
  TaskTable table;
  table.add(record(10, TaskChange::kSeen, "old"));
  table.add(record(50, TaskChange::kExit, "", 10, 0));
  table.add(record(70, TaskChange::kSeen, "", 10, 0));
  CHECK(comm_at(table, 80) == "<...>");
  CHECK(table.name(10, 80).tgid == 10);
  TaskTable other;
  other.add(record(50, TaskChange::kExit, "", 10, 0));
  other.add(record(70, TaskChange::kSeen, "new", 10, 30));
  CHECK(comm_at(other, 60) == "<...>");
  CHECK(other.name(10, 60).tgid == 10);
}

TEST_CASE("a life ends where the fork of the next was seen though its exit was lost") {
  TaskTable table;
  table.add(record(10, TaskChange::kSeen, "", 10, 0));
  table.add(record(70, TaskChange::kFork, "next", 10, 30));
  CHECK(comm_at(table, 20) == "<...>");
  CHECK(table.name(10, 20).tgid == 10);
}

TEST_CASE("odd thread names come out as they went in") {
  const std::string comm = GENERATE(std::string("[ET_NET 0]"), std::string("a b;c)"), std::string("x\ny"),
                                    std::string("\xff\xfe\x80"), std::string("(sd-pam)"), std::string("       "));
  TaskTable table;
  table.add(record(1, TaskChange::kSeen, comm));
  CHECK(comm_at(table, 1) == comm);
}
