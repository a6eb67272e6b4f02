// SPDX-License-Identifier: Apache-2.0
#include "profile/filter.h"

#include "support/catch.h"

namespace stackmap {

namespace {

TaskTable& two_tasks() {
  static TaskTable table = [] {
    TaskTable t;
    t.add({0, TaskChange::kSeen, 10, 10, 0, "bash"});
    t.add({50, TaskChange::kExec, 10, 10, 0, "make"});
    t.add({0, TaskChange::kSeen, 11, 10, 0, "thread"});
    t.add({0, TaskChange::kSeen, 20, 20, 0, "bash"});
    return t;
  }();
  return table;
}

bool passes(const Filter& filter, uint16_t type, uint32_t tid, uint64_t time) {
  TaskNames names(two_tasks());
  EventFilter ready(filter);
  Event event;
  event.type = type;
  event.tid = tid;
  event.time_ns = time;
  return ready.accepts(event) && ready.accepts(names.find(tid, time), names);
}

}  // namespace

TEST_CASE("an empty filter accepts everything", "[filter]") {
  CHECK(passes({}, 65535, 999, ~uint64_t{0}));
  CHECK_FALSE(EventFilter({}).needs_task());
}

TEST_CASE("each list narrows, and they combine", "[filter]") {
  CHECK(passes({.event_types = {3, 65535}}, 65535, 1, 0));
  CHECK(passes({.event_types = {3, 65535}}, 3, 1, 0));
  CHECK_FALSE(passes({.event_types = {3, 65535}}, 1, 1, 0));
  CHECK_FALSE(passes({.event_types = {3, 65535}}, 2, 1, 0));
  CHECK(passes({.tids = {30, 11, 20}}, 1, 11, 0));
  CHECK_FALSE(passes({.tids = {30, 11, 20}}, 1, 10, 0));
  CHECK(passes({.tgids = {10}}, 1, 11, 0));
  CHECK_FALSE(passes({.tgids = {10}}, 1, 20, 0));
  CHECK(passes({.tgids = {10}, .tids = {10}}, 1, 10, 0));
  CHECK_FALSE(passes({.tgids = {10}, .tids = {20}}, 1, 20, 0));
}

TEST_CASE("comm is the name at the time of the event, whole", "[filter]") {
  const Filter bash{.comms = {"bash"}};
  CHECK(passes(bash, 1, 10, 49));
  CHECK_FALSE(passes(bash, 1, 10, 50));
  CHECK(passes(bash, 1, 20, 50));
  CHECK_FALSE(passes({.comms = {"bas"}}, 1, 20, 50));
}

TEST_CASE("the time range holds both ends", "[filter]") {
  const Filter filter{.from_ns = 10, .until_ns = 20};
  CHECK_FALSE(passes(filter, 1, 1, 9));
  CHECK(passes(filter, 1, 1, 10));
  CHECK(passes(filter, 1, 1, 20));
  CHECK_FALSE(passes(filter, 1, 1, 21));
}

TEST_CASE("names met late are judged too", "[filter]") {
  TaskNames names(two_tasks());
  EventFilter ready(Filter{.comms = {"<...>"}});
  CHECK_FALSE(ready.accepts(names.find(10, 0), names));
  CHECK(ready.accepts(names.find(12345, 0), names));  // unknown: the name is added at this call
}

}  // namespace stackmap
