// SPDX-License-Identifier: Apache-2.0
#include "profile/aggregate.h"

#include <cerrno>
#include <map>

#include "support/catch.h"
#include "support/report_fixture.h"

namespace stackmap {

namespace {

using Stacks = std::map<std::string, std::vector<uint64_t>>;  // "a;b;c" -> values

Stacks stacks_of(const Profile& profile) {
  Stacks stacks;
  for (size_t i = 0; i < profile.size(); ++i) {
    const auto sample = profile.sample(i);
    std::string line;
    for (const FrameId id : sample.frames) {
      line += (line.empty() ? "" : ";") + profile.frame(id).name;
    }
    stacks[line] = {sample.values.begin(), sample.values.end()};
  }
  return stacks;
}

Profile run(const test::FakeEvents& source, const AggregateOptions& options = {}, const Filter& filter = {}) {
  auto result = aggregate(source, filter, options);
  REQUIRE(result.ok());
  return std::move(result).value();
}

std::vector<uint64_t> kmalloc_of(uint64_t bytes, uint64_t ptr = 0x1000) {
  return {ptr, bytes, bytes, 0, 0};
}

// Frames 0x10 (leaf) to 0x30 (root) have names; 0x40 has none.
test::FakeEvents named_source() {
  test::FakeEvents source;
  source.symbols[0x10] = {"kmalloc_leaf", 4, 16, ""};
  source.symbols[0x20] = {"middle", 8, 16, "ext4"};
  source.symbols[0x30] = {"entry", 0, 16, ""};
  source.task(1, "bash");
  source.task(2, "make");
  return source;
}

}  // namespace

TEST_CASE("cookies, the task as root, frames root first", "[aggregate]") {
  test::FakeEvents source = named_source();
  source.stacks[Cookie(1, 7)] = {0x10, 0x20, 0x30};
  source.add(kKmalloc, kmalloc_of(64), source.cookie(1, 7), 1);
  source.add(kKmalloc, kmalloc_of(32), source.cookie(1, 7), 1);
  source.add(kKmalloc, kmalloc_of(8), source.cookie(1, 7), 2);
  const Profile count = run(source);
  CHECK(stacks_of(count) == Stacks{{"bash;entry;middle;kmalloc_leaf", {2}}, {"make;entry;middle;kmalloc_leaf", {1}}});
  CHECK(count.unit() == Unit::kEvents);
  CHECK(count.frame(count.sample(0).frames[0]).kind == FrameKind::kTask);
  const Profile bytes = run(source, {.weight = find_weight("bytes")});
  CHECK(stacks_of(bytes) ==
        Stacks{{"bash;entry;middle;kmalloc_leaf", {96, 2}}, {"make;entry;middle;kmalloc_leaf", {8, 1}}});
  CHECK(bytes.notes.empty());
  CHECK(stacks_of(run(source, {.merge_tasks = true})) == Stacks{{"entry;middle;kmalloc_leaf", {3}}});
  CHECK(stacks_of(run(source, {.merge_tasks = true, .module_suffix = true})) ==
        Stacks{{"entry;middle [ext4];kmalloc_leaf", {3}}});
}

TEST_CASE("case 14: slot 0 is a slot like any other", "[aggregate]") {
  test::FakeEvents source = named_source();
  source.stacks[Cookie(1, 0)] = {0x10};
  source.add(kKfree, {1}, source.cookie(1, 0));
  const Profile result = run(source);
  CHECK(stacks_of(result) == Stacks{{"bash;kmalloc_leaf", {1}}});
}

TEST_CASE("case 9: an errno is a named bucket, in the totals, and no stack", "[aggregate]") {
  test::FakeEvents source = named_source();
  for (int i = 0; i < 236; ++i) {
    source.add(kKmalloc, kmalloc_of(10), source.error(EEXIST));
  }
  for (int i = 0; i < 5492; ++i) {
    source.add(kKmalloc, kmalloc_of(1), source.error(ENOMEM));
  }
  const Profile result = run(source, {.weight = find_weight("bytes")});
  CHECK(stacks_of(result) ==
        Stacks{{"bash;[stack error EEXIST]", {2360, 236}}, {"bash;[stack error ENOMEM]", {5492, 5492}}});
  CHECK(result.total() == 2360 + 5492);
  CHECK(result.notes == std::vector<std::string>{"5,728 events have an error in place of a stack"});
  CHECK(result.frame(result.sample(0).frames[1]).kind == FrameKind::kBucket);
}

TEST_CASE("each state of a stack has its place", "[aggregate]") {
  test::FakeEvents source = named_source();
  source.stacks[Cookie(2, 5)] = {0x10, 0x40};
  source.add(kKfree, {1});
  source.add(kKfree, {1}, source.cookie(2, 5));
  source.add(kKfree, {1}, source.cookie(1, 5));  // the same slot of another generation
  source.add(kKfree, {1}, source.fallback({0x10, 0x40}));
  source.add(kKfree, {1}, source.fallback({0x10, 0x30}));
  source.add(kKfree, {1}, source.fallback({0x10, 0x30}));
  source.add(kKfree, {1}, source.fallback({}));
  const Profile result = run(source);
  CHECK(stacks_of(result) == Stacks{{"bash;[no stack]", {1}},
                                    {"bash;0x40;kmalloc_leaf", {2}},
                                    {"bash;[stack 5 gen 1 not in the capture]", {1}},
                                    {"bash;entry;kmalloc_leaf", {2}},
                                    {"bash;[empty stack]", {1}}});
  CHECK(result.notes == std::vector<std::string>{"1 event has a stack that is not in the capture"});
}

TEST_CASE("stacks of different kinds with one number stay apart", "[aggregate]") {
  test::FakeEvents source = named_source();
  source.add(kKfree, {1});                           // none: 0
  source.add(kKfree, {1}, source.fallback({0x10}));  // the first fallback: 0
  source.add(kKfree, {1}, source.fallback({0x30}));  // the second one: 1
  source.add(kKfree, {1}, source.error(EPERM));      // 1
  CHECK(stacks_of(run(source)) == Stacks{{"bash;[no stack]", {1}},
                                         {"bash;kmalloc_leaf", {1}},
                                         {"bash;entry", {1}},
                                         {"bash;[stack error EPERM]", {1}}});
}

TEST_CASE("the root is the name at the time of the event", "[aggregate]") {
  test::FakeEvents source = named_source();
  source.task_table.add({500, TaskChange::kExec, 1, 1, 0, "gcc"});
  source.add(kKfree, {1}, {}, 1, 499);
  source.add(kKfree, {1}, {}, 1, 500);
  source.add(kKfree, {1}, {}, 1, 501);
  source.add(kKfree, {1}, {}, 4242, 501);
  source.add(kKfree, {1}, {}, 0, 501);
  CHECK(
      stacks_of(run(source)) ==
      Stacks{{"bash;[no stack]", {1}}, {"gcc;[no stack]", {2}}, {"<...>;[no stack]", {1}}, {"<idle>;[no stack]", {1}}});
}

TEST_CASE("case 3: odd thread names are one root frame, as they are", "[aggregate]") {
  const std::vector<std::string> odd = {"[ET_NET 0]", "a b", "x;y", "x)y", "\xff\xfe"};
  test::FakeEvents source;
  for (uint32_t i = 0; i < odd.size(); ++i) {
    source.task(100 + i, odd[i]);
    source.add(kKfree, {1}, {}, 100 + i);
  }
  const Profile profile = run(source);
  REQUIRE(profile.size() == odd.size());
  for (size_t i = 0; i < profile.size(); ++i) {
    REQUIRE(profile.sample(i).frames.size() == 2);
    CHECK(profile.frame(profile.sample(i).frames[0]) == Frame{odd[i], FrameKind::kTask});
  }
}

TEST_CASE("a profile of bytes says what is not in it", "[aggregate]") {
  test::FakeEvents source = named_source();
  source.add(kKmalloc, kmalloc_of(64));
  source.add(kKmalloc, kmalloc_of(64, 0));            // failed
  source.add(kMmPageAlloc, {~uint64_t{0}, 2, 0, 0});  // failed
  source.add(kMmPageAlloc, {8, 2, 0, 0});
  source.add(kMmPageAlloc, {8, 41, 0, 0});  // damage
  source.add(kMmPageFree, {8, 2});
  source.add(kKfree, {1});
  source.add(kSchedSwitch, {1, 2, 3, 4});
  const Profile bytes = run(source, {.weight = find_weight("bytes")});
  CHECK(bytes.total() == 64 + 4 * 4096);
  CHECK(bytes.notes == std::vector<std::string>{"3 events are no allocations and have no bytes",
                                                "2 failed allocations are not counted as bytes",
                                                "1 allocation without a usable size is not counted"});
  const Profile count = run(source);
  CHECK(count.total() == 8);
  CHECK(count.notes.empty());
}

TEST_CASE("the filter decides before anything is counted", "[aggregate]") {
  test::FakeEvents source = named_source();
  source.add(kKmalloc, kmalloc_of(64), {}, 1, 10);
  source.add(kKmalloc, kmalloc_of(64), {}, 2, 10);
  source.add(kKfree, {1}, {}, 1, 10);
  source.add(kKmalloc, kmalloc_of(64), {}, 1, 30);
  const Profile result = run(source, {}, {.event_types = {kKmalloc}, .comms = {"bash"}, .until_ns = 20});
  CHECK(stacks_of(result) == Stacks{{"bash;[no stack]", {1}}});
  const Profile merged = run(source, {.merge_tasks = true}, {.tgids = {2}});
  CHECK(stacks_of(merged) == Stacks{{"[no stack]", {1}}});
}

TEST_CASE("names are looked up once a stack, not once an event", "[aggregate]") {
  test::FakeEvents source = named_source();
  source.stacks[Cookie(1, 1)] = {0x10};
  source.stacks[Cookie(1, 2)] = {0x20};
  for (int i = 0; i < 1000; ++i) {
    source.add(kKfree, {1}, source.cookie(1, i % 2 == 0 ? 1 : 2), 1 + static_cast<uint32_t>(i / 2) % 2);
  }
  const Profile profile = run(source);
  CHECK(profile.size() == 4);
  CHECK(profile.total() == 1000);
  CHECK(source.stack_lookups == 2);
}

TEST_CASE("an event of a type that nobody described still counts", "[aggregate]") {
  test::FakeEvents source = named_source();
  source.add(65535, {1, 2, 3});
  const Profile result = run(source);
  CHECK(result.total() == 1);
}

TEST_CASE("weights above 2^40 add up, and a failing source fails", "[aggregate]") {
  test::FakeEvents source = named_source();
  for (int i = 0; i < 3; ++i) {
    source.add(kKmalloc, kmalloc_of(uint64_t{1} << 41));
  }
  CHECK(run(source, {.weight = find_weight("bytes")}).total() == 3 * (uint64_t{1} << 41));
  source.broken = true;
  CHECK_FALSE(aggregate(source, {}, {}).ok());
}

}  // namespace stackmap
