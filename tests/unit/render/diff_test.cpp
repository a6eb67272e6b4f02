// SPDX-License-Identifier: Apache-2.0
#include "render/diff.h"

#include "support/catch.h"
#include "support/report_fixture.h"

namespace stackmap {

namespace {

const DiffNode& node_of(const ProfileDiff& diff, const std::string& name) {
  for (const DiffNode& node : diff.nodes) {
    if (node.name == name) {
      return node;
    }
  }
  FAIL("no node " << name);
  return diff.nodes[0];
}

}  // namespace

TEST_CASE("case 5: a function that moved its weight into a callee", "[diff]") {
  Profile before;
  test::add_stack(before, {"t", "main", "foo"}, 1);
  Profile after;
  test::add_stack(after, {"t", "main", "foo", "bar"}, 4);
  const auto diff = diff_profiles(before, after);
  REQUIRE(diff.ok());
  const DiffNode& foo = node_of(*diff, "foo");
  CHECK(foo.before == 1);
  CHECK(foo.after == 4);
  CHECK(foo.self_before == 1);
  CHECK(foo.self_after == 0);
  const DiffNode& bar = node_of(*diff, "bar");
  CHECK(bar.before == 0);
  CHECK(bar.after == 4);
  CHECK(bar.self_before == 0);
  CHECK(bar.self_after == 4);
  CHECK(diff->nodes[bar.parent].name == "foo");
  CHECK(change_percent(bar.before, bar.after) == "new");
}

TEST_CASE("case 5: deltas are summed to parents", "[diff]") {
  Profile before;
  test::add_stack(before, {"t", "parent", "a"}, 10);
  test::add_stack(before, {"t", "parent", "b"}, 10);
  test::add_stack(before, {"t", "parent2"}, 30);
  Profile after;
  test::add_stack(after, {"t", "parent", "a"}, 30);
  test::add_stack(after, {"t", "parent", "b"}, 30);
  test::add_stack(after, {"t", "parent2"}, 30);
  const auto diff = diff_profiles(before, after);
  REQUIRE(diff.ok());
  CHECK(node_of(*diff, "parent").before == 20);
  CHECK(node_of(*diff, "parent").after == 60);
  CHECK(diff->functions[0].name == "parent");
  CHECK(test::written([&](TextWriter& out) { write_diff_table(*diff, 2, out); }) ==
        "Total: 50 events before, 90 events after: +40 (+80.0% of the total before)\n"
        "\n"
        "2 of 4 functions, the largest change first; events with callees, percent of the function's own before:\n"
        "      change    percent        before         after   self change  function\n"
        "         +40    +200.0%            20            60             0  parent\n"
        "         +20    +200.0%            10            30           +20  a\n");
}

TEST_CASE("what is gone is a row, and recursion counts once", "[diff]") {
  Profile before;
  test::add_stack(before, {"t", "gone", "gone"}, 9);
  const auto diff = diff_profiles(before, Profile());
  REQUIRE(diff.ok());
  CHECK(diff->functions[0].before == 9);
  CHECK(diff->functions[0].after == 0);
  CHECK(change_text(Unit::kEvents, 9, 0) == "-9");
  CHECK(change_percent(9, 0) == "-100.0%");
  CHECK(change_percent(0, 0) == "0.0%");
  CHECK(change_percent(5, 5) == "0.0%");
  CHECK(change_text(Unit::kBytes, 1024, 3072) == "+2.0 KiB");
  CHECK(change_text(Unit::kBytes, 7, 7) == "0");
}

TEST_CASE("differential folded lines carry both weights", "[diff]") {
  Profile before;
  test::add_stack(before, {"V8 worker 7", "gone"}, 9);
  test::add_stack(before, {"t", "both"}, 2);
  Profile after;
  test::add_stack(after, {"t", "both"}, 3);
  test::add_stack(after, {"t", "new"}, 4);
  CHECK(test::written([&](TextWriter& out) { write_diff_folded(before, after, out); }) ==
        "V8 worker_7;gone 9 0\nt;both 2 3\nt;new 0 4\n");
}

TEST_CASE("units must agree", "[diff]") {
  Profile bytes;
  bytes.unit = Unit::kBytes;
  CHECK(diff_profiles(bytes, Profile()).error().kind == ErrorKind::kUsage);
}

}  // namespace stackmap
