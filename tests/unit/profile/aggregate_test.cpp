// SPDX-License-Identifier: Apache-2.0
#include "profile/aggregate.h"

#include <cerrno>
#include <map>

#include "support/catch.h"
#include "support/report_fixture.h"

namespace stackmap {

namespace {

using Stacks = std::map<std::string, std::pair<uint64_t, uint64_t>>;  // "a;b;c" -> value, count

Stacks stacks_of(const Profile& profile) {
  Stacks stacks;
  for (size_t i = 0; i < profile.size(); ++i) {
    const auto sample = profile.sample(i);
    std::string line;
    for (const FrameId id : sample.frames) {
      line += (line.empty() ? "" : ";") + profile.frame(id).name;
    }
    stacks[line] = {sample.value, sample.count};
  }
  return stacks;
}

Aggregate run(const test::FakeEvents& source, const AggregateOptions& options = {}, const Filter& filter = {}) {
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
  const Aggregate count = run(source);
  CHECK(stacks_of(count.profile) ==
        Stacks{{"bash;entry;middle;kmalloc_leaf", {2, 2}}, {"make;entry;middle;kmalloc_leaf", {1, 1}}});
  CHECK(count.profile.unit == Unit::kEvents);
  CHECK(count.profile.frame(count.profile.sample(0).frames[0]).kind == FrameKind::kTask);
  CHECK(count.totals.cookies == 3);
  CHECK(count.totals.by_type == std::vector<std::pair<uint16_t, uint64_t>>{{kKmalloc, 3}});
  const Aggregate bytes = run(source, {.weight = Weight::kBytes});
  CHECK(stacks_of(bytes.profile) ==
        Stacks{{"bash;entry;middle;kmalloc_leaf", {96, 2}}, {"make;entry;middle;kmalloc_leaf", {8, 1}}});
  CHECK(bytes.profile.notes.empty());
  CHECK(stacks_of(run(source, {.merge_tasks = true}).profile) == Stacks{{"entry;middle;kmalloc_leaf", {3, 3}}});
  CHECK(stacks_of(run(source, {.merge_tasks = true, .module_suffix = true}).profile) ==
        Stacks{{"entry;middle [ext4];kmalloc_leaf", {3, 3}}});
}

TEST_CASE("case 14: slot 0 is a slot like any other", "[aggregate]") {
  test::FakeEvents source = named_source();
  source.stacks[Cookie(1, 0)] = {0x10};
  source.add(kKfree, {1}, source.cookie(1, 0));
  const Aggregate result = run(source);
  CHECK(stacks_of(result.profile) == Stacks{{"bash;kmalloc_leaf", {1, 1}}});
  CHECK(result.totals.no_stack == 0);
}

TEST_CASE("case 9: an errno is a named bucket, in the totals, and no stack", "[aggregate]") {
  test::FakeEvents source = named_source();
  for (int i = 0; i < 236; ++i) {
    source.add(kKmalloc, kmalloc_of(10), source.error(EEXIST));
  }
  for (int i = 0; i < 5492; ++i) {
    source.add(kKmalloc, kmalloc_of(1), source.error(ENOMEM));
  }
  const Aggregate result = run(source, {.weight = Weight::kBytes});
  CHECK(stacks_of(result.profile) ==
        Stacks{{"bash;[stack error EEXIST]", {2360, 236}}, {"bash;[stack error ENOMEM]", {5492, 5492}}});
  CHECK(result.profile.total_value() == 2360 + 5492);
  CHECK(result.totals.stack_errors == 236 + 5492);
  CHECK(result.profile.notes == std::vector<std::string>{"5,728 events have an error in place of a stack"});
  CHECK(result.profile.frame(result.profile.sample(0).frames[1]).kind == FrameKind::kBucket);
  CHECK(errno_name(EFAULT) == "EFAULT");
  CHECK(errno_name(4711) == "4711");
  CHECK(errno_name(0) == "0");
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
  const Aggregate result = run(source);
  CHECK(stacks_of(result.profile) == Stacks{{"bash;[no stack]", {1, 1}},
                                            {"bash;0x40;kmalloc_leaf", {2, 2}},
                                            {"bash;[stack 5 gen 1 not in the capture]", {1, 1}},
                                            {"bash;entry;kmalloc_leaf", {2, 2}},
                                            {"bash;[empty stack]", {1, 1}}});
  CHECK(result.totals.no_stack == 1);
  CHECK(result.totals.cookies == 1);
  CHECK(result.totals.missing_stacks == 1);
  CHECK(result.totals.fallbacks == 4);
  CHECK(result.totals.counted == 7);
}

TEST_CASE("stacks of different kinds with one number stay apart", "[aggregate]") {
  test::FakeEvents source = named_source();
  source.add(kKfree, {1});                           // none: 0
  source.add(kKfree, {1}, source.fallback({0x10}));  // the first fallback: 0
  source.add(kKfree, {1}, source.fallback({0x30}));  // the second one: 1
  source.add(kKfree, {1}, source.error(EPERM));      // 1
  CHECK(stacks_of(run(source).profile) == Stacks{{"bash;[no stack]", {1, 1}},
                                                 {"bash;kmalloc_leaf", {1, 1}},
                                                 {"bash;entry", {1, 1}},
                                                 {"bash;[stack error EPERM]", {1, 1}}});
}

TEST_CASE("the root is the name at the time of the event", "[aggregate]") {
  test::FakeEvents source = named_source();
  source.task_table.add({500, TaskChange::kExec, 1, 1, 0, "gcc"});
  source.add(kKfree, {1}, {}, 1, 499);
  source.add(kKfree, {1}, {}, 1, 500);
  source.add(kKfree, {1}, {}, 1, 501);
  source.add(kKfree, {1}, {}, 4242, 501);
  source.add(kKfree, {1}, {}, 0, 501);
  CHECK(stacks_of(run(source).profile) == Stacks{{"bash;[no stack]", {1, 1}},
                                                 {"gcc;[no stack]", {2, 2}},
                                                 {"<...>;[no stack]", {1, 1}},
                                                 {"<idle>;[no stack]", {1, 1}}});
}

TEST_CASE("case 3: odd thread names are one root frame, as they are", "[aggregate]") {
  const std::vector<std::string> odd = {"[ET_NET 0]", "a b", "x;y", "x)y", "\xff\xfe"};
  test::FakeEvents source;
  for (uint32_t i = 0; i < odd.size(); ++i) {
    source.task(100 + i, odd[i]);
    source.add(kKfree, {1}, {}, 100 + i);
  }
  const Profile profile = run(source).profile;
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
  const Aggregate bytes = run(source, {.weight = Weight::kBytes});
  CHECK(bytes.profile.total_value() == 64 + 4 * 4096);
  CHECK(bytes.totals.events == 8);
  CHECK(bytes.totals.counted == 2);
  CHECK(bytes.totals.failed_allocations == 2);
  CHECK(bytes.totals.unknown_size == 1);
  CHECK(bytes.totals.not_allocations == 3);
  CHECK(bytes.profile.notes == std::vector<std::string>{"3 events are no allocations and have no bytes",
                                                        "2 failed allocations are not counted as bytes",
                                                        "1 allocation without a usable size is not counted"});
  const Aggregate count = run(source);
  CHECK(count.profile.total_value() == 8);
  CHECK(count.profile.notes.empty());
}

TEST_CASE("the filter decides before anything is counted", "[aggregate]") {
  test::FakeEvents source = named_source();
  source.add(kKmalloc, kmalloc_of(64), {}, 1, 10);
  source.add(kKmalloc, kmalloc_of(64), {}, 2, 10);
  source.add(kKfree, {1}, {}, 1, 10);
  source.add(kKmalloc, kmalloc_of(64), {}, 1, 30);
  const Aggregate result = run(source, {}, {.event_types = {kKmalloc}, .comms = {"bash"}, .until_ns = 20});
  CHECK(stacks_of(result.profile) == Stacks{{"bash;[no stack]", {1, 1}}});
  CHECK(result.totals.events == 4);
  CHECK(result.totals.filtered == 3);
  const Aggregate merged = run(source, {.merge_tasks = true}, {.tgids = {2}});
  CHECK(stacks_of(merged.profile) == Stacks{{"[no stack]", {1, 1}}});
}

TEST_CASE("names are looked up once a stack, not once an event", "[aggregate]") {
  test::FakeEvents source = named_source();
  source.stacks[Cookie(1, 1)] = {0x10};
  source.stacks[Cookie(1, 2)] = {0x20};
  for (int i = 0; i < 1000; ++i) {
    source.add(kKfree, {1}, source.cookie(1, i % 2 == 0 ? 1 : 2), 1 + static_cast<uint32_t>(i / 2) % 2);
  }
  const Profile profile = run(source).profile;
  CHECK(profile.size() == 4);
  CHECK(profile.total_value() == 1000);
  CHECK(source.stack_lookups == 2);
}

TEST_CASE("an event of a type that nobody described still counts", "[aggregate]") {
  test::FakeEvents source = named_source();
  source.add(65535, {1, 2, 3});
  const Aggregate result = run(source);
  CHECK(result.profile.total_value() == 1);
  CHECK(result.totals.by_type == std::vector<std::pair<uint16_t, uint64_t>>{{65535, 1}});
}

TEST_CASE("weights above 2^40 add up, and a failing source fails", "[aggregate]") {
  test::FakeEvents source = named_source();
  for (int i = 0; i < 3; ++i) {
    source.add(kKmalloc, kmalloc_of(uint64_t{1} << 41));
  }
  CHECK(run(source, {.weight = Weight::kBytes}).profile.total_value() == 3 * (uint64_t{1} << 41));
  source.broken = true;
  CHECK_FALSE(aggregate(source, {}, {}).ok());
}

}  // namespace stackmap
