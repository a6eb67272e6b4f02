// SPDX-License-Identifier: Apache-2.0
#include "profile/diff.h"

#include "profile/frame_tree.h"
#include "support/catch.h"
#include "support/report_fixture.h"

namespace stackmap {

namespace {

using Values = std::vector<uint64_t>;

const FunctionRow& row_of(const ProfileDiff& diff, const std::string& name) {
  for (const FunctionRow& row : diff.functions) {
    if (diff.joined.frame(row.frame).name == name) {
      return row;
    }
  }
  FAIL("no function " << name);
  return diff.functions[0];
}

}  // namespace

TEST_CASE("case 5: a function that moved its weight into a callee", "[diff]") {
  Profile before;
  test::add_stack(before, {"t", "main", "foo"}, 1);
  Profile after;
  test::add_stack(after, {"t", "main", "foo", "bar"}, 4);
  const auto diff = diff_profiles(before, after);
  REQUIRE(diff.ok());
  CHECK(diff->joined.totals() == Values{1, 4});
  CHECK(row_of(*diff, "foo").totals == Values{1, 4});
  CHECK(row_of(*diff, "foo").selfs == Values{1, 0});
  CHECK(row_of(*diff, "bar").totals == Values{0, 4});
  CHECK(row_of(*diff, "bar").selfs == Values{0, 4});
  // The tree of both has both columns too: t, main, foo, bar.
  const FrameTree tree(diff->joined);
  REQUIRE(tree.nodes().size() == 4);
  CHECK(std::ranges::equal(tree.totals(2), Values{1, 4}));
  CHECK(std::ranges::equal(tree.selfs(2), Values{1, 0}));
  CHECK(tree.nodes()[3].parent == 2);
  CHECK(std::ranges::equal(tree.totals(3), Values{0, 4}));
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
  CHECK(row_of(*diff, "parent").totals == Values{20, 60});
  CHECK(diff->joined.frame(diff->functions[0].frame).name == "parent");
}

TEST_CASE("what is gone is a row, and recursion counts once", "[diff]") {
  Profile before;
  test::add_stack(before, {"t", "gone", "gone"}, 9);
  const auto diff = diff_profiles(before, Profile());
  REQUIRE(diff.ok());
  CHECK(diff->functions[0].totals == Values{9, 0});
}

TEST_CASE("what is compared is the weight, not what stands beside it", "[diff]") {
  Profile before = test::bytes_profile();
  test::add_stack(before, {"t", "f"}, 100, 7);
  const auto diff = diff_profiles(before, before);
  REQUIRE(diff.ok());
  CHECK(diff->joined.unit() == Unit::kBytes);
  CHECK(row_of(*diff, "f").totals == Values{100, 100});
}

TEST_CASE("units must agree", "[diff]") {
  CHECK(diff_profiles(test::bytes_profile(), Profile()).error().kind == ErrorKind::kUsage);
}

}  // namespace stackmap
