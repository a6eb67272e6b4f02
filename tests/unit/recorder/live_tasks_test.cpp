// SPDX-License-Identifier: Apache-2.0
#include "recorder/live_tasks.h"

#include "support/catch.h"

using namespace stackmap;

namespace {

TaskRecord record(TaskChange change, uint32_t tid, const char* comm, uint32_t ptgid = 0, uint64_t time = 1000) {
  return {time, change, tid, tid, ptgid, comm};
}

}  // namespace

TEST_CASE("a thread is told of once in each capture, by its latest name") {
  LiveTasks tasks(nullptr);
  tasks.add_seen(record(TaskChange::kSeen, 7, "old", 3));
  const auto first = tasks.meet(7, 6, 200);
  REQUIRE(first);
  CHECK(*first == TaskRecord{200, TaskChange::kSeen, 7, 6, 3, "old"});
  CHECK_FALSE(tasks.meet(7, 6, 201));
  tasks.take(record(TaskChange::kRename, 7, "new", 0, 1001));
  tasks.start_capture();
  const auto again = tasks.meet(7, 0, 300);
  REQUIRE(again);
  CHECK(again->comm == "new");
  CHECK(again->ptgid == 3);
  CHECK(again->change == TaskChange::kSeen);
  CHECK_FALSE(tasks.meet(7, 0, 301));
}

TEST_CASE("what a record has told is not told again by an event, nor undone by /proc") {
  LiveTasks tasks(nullptr);
  tasks.take(record(TaskChange::kFork, 8, "child", 1));
  tasks.add_seen(record(TaskChange::kSeen, 8, "stale"));
  CHECK_FALSE(tasks.meet(8, 8, 200));
  tasks.start_capture();
  CHECK(tasks.meet(8, 8, 200)->comm == "child");
}

TEST_CASE("nothing is ever told of thread 0, the idle one") {
  LiveTasks tasks(nullptr);
  CHECK_FALSE(tasks.meet(0, 0, 1));
}

TEST_CASE("who looks is asked about a stranger, once") {
  int asked = 0;
  LiveTasks tasks([&](uint32_t tid, uint64_t time) -> Result<TaskRecord> {
    ++asked;
    return TaskRecord{time, TaskChange::kSeen, tid, 40, 2, "found"};
  });
  CHECK(tasks.meet(41, 0, 5)->comm == "found");
  tasks.start_capture();
  CHECK(tasks.meet(41, 0, 6)->tgid == 40);
  CHECK(asked == 1);
}

TEST_CASE("threads that have exited are forgotten, so that memory follows the living") {
  std::vector<uint32_t> strangers;
  LiveTasks tasks([&](uint32_t tid, uint64_t) -> Result<TaskRecord> {
    strangers.push_back(tid);
    return make_error(ErrorKind::kNotFound, "gone");
  });
  constexpr uint32_t kThreads = 200000;
  for (uint32_t tid = 1; tid <= kThreads; ++tid) {
    tasks.take(record(TaskChange::kFork, tid, "t"));
    tasks.take(record(TaskChange::kExit, tid, ""));
  }
  // The last ones still are known, with their names; the ones before are strangers, who are asked about.
  tasks.start_capture();
  constexpr auto kFirstKept = static_cast<uint32_t>(kThreads - LiveTasks::kExitedKept + 1);
  CHECK(tasks.meet(kThreads, 0, 1)->comm == "t");
  CHECK(tasks.meet(kFirstKept, 0, 1)->comm == "t");
  CHECK(strangers.empty());
  for (const uint32_t tid : {uint32_t{1}, kFirstKept / 2, kFirstKept - 1}) {
    (void)tasks.meet(tid, 0, 1);
  }
  CHECK(strangers == std::vector<uint32_t>{1, kFirstKept / 2, kFirstKept - 1});
}

TEST_CASE("a number that is used again is not forgotten with its first owner") {
  LiveTasks tasks(nullptr);
  tasks.take(record(TaskChange::kExit, 1, "first"));
  tasks.take(record(TaskChange::kFork, 1, "second"));
  for (uint32_t tid = 2; tid < 2 + 2 * LiveTasks::kExitedKept; ++tid) {
    tasks.take(record(TaskChange::kExit, tid, ""));
  }
  tasks.start_capture();
  CHECK(tasks.meet(1, 0, 1)->comm == "second");
}

TEST_CASE("a fork that is told of after the exec does not take the name back") {
  LiveTasks tasks(nullptr);
  tasks.take(record(TaskChange::kExec, 5, "program", 0, 20));
  tasks.take(record(TaskChange::kFork, 5, "shell", 3, 10));
  tasks.start_capture();
  const auto met = tasks.meet(5, 5, 30);
  REQUIRE(met);
  CHECK(met->comm == "program");
  CHECK(met->ptgid == 3);
}

TEST_CASE("an exit that is told of after the number's next fork ends nobody") {
  LiveTasks tasks(nullptr);
  tasks.take(record(TaskChange::kFork, 5, "second", 0, 20));
  tasks.take(record(TaskChange::kExit, 5, "first", 0, 10));
  for (uint32_t tid = 6; tid < 6 + 2 * LiveTasks::kExitedKept; ++tid) {
    tasks.take(record(TaskChange::kExit, tid, "", 0, 30));
  }
  tasks.start_capture();
  CHECK(tasks.meet(5, 5, 40)->comm == "second");
}
