// SPDX-License-Identifier: Apache-2.0
#include "profile/top.h"

#include "support/catch.h"
#include "support/report_fixture.h"

namespace stackmap {

namespace {

using Values = std::vector<uint64_t>;
using Names = std::vector<std::string>;

Names names_of(const Profile& profile, const std::vector<FrameId>& frames) {
  Names names;
  for (const FrameId frame : frames) {
    names.push_back(profile.frame(frame).name);
  }
  return names;
}

Names names_of(const Profile& profile, const std::vector<FunctionRow>& rows) {
  Names names;
  for (const FunctionRow& row : rows) {
    names.push_back(profile.frame(row.frame).name);
  }
  return names;
}

}  // namespace

TEST_CASE("a function counts once a stack, also when it recurs", "[top]") {
  Profile profile = test::bytes_profile();
  test::add_stack(profile, {"t", "f", "g", "f"}, 10, 2);
  test::add_stack(profile, {"u", "f", "h"}, 5, 3);
  test::add_stack(profile, {"f", "h"}, 1, 4);  // a task that is called like a function
  const auto rows = top_functions(profile, FunctionOrder::kSelf);
  REQUIRE(names_of(profile, rows) == Names{"f", "h", "g"});
  CHECK(rows[0].totals == Values{15, 5});
  CHECK(rows[0].selfs == Values{10, 2});
  CHECK(rows[1].totals == Values{6, 7});
  CHECK(rows[1].selfs == Values{6, 7});
  CHECK(rows[2].totals == Values{10, 2});
  CHECK(rows[2].selfs == Values{0, 0});
  CHECK(names_of(profile, top_functions(profile, FunctionOrder::kTotal)) == Names{"f", "g", "h"});
}

TEST_CASE("a stack of several tasks is one row, and equal weights are in order of name", "[top]") {
  Profile profile = test::bytes_profile();
  test::add_stack(profile, {"make", "entry", "b"}, 4, 2);
  test::add_stack(profile, {"bash", "entry", "b"}, 3, 1);
  test::add_stack(profile, {"make", "entry", "a"}, 7, 3);
  test::add_stack(profile, {"make", "other", "a"}, 7, 3);
  test::add_stack(profile, {"make", "c"}, 1);
  const auto rows = top_stacks(profile);
  REQUIRE(rows.size() == 4);
  CHECK(names_of(profile, rows[0].frames) == Names{"a", "entry"});
  CHECK(names_of(profile, rows[0].tasks) == Names{"make"});
  CHECK(names_of(profile, rows[1].frames) == Names{"a", "other"});
  CHECK(names_of(profile, rows[2].frames) == Names{"b", "entry"});
  CHECK(names_of(profile, rows[2].tasks) == Names{"bash", "make"});
  CHECK(rows[2].values == Values{7, 3});
  CHECK(names_of(profile, rows[3].frames) == Names{"c"});
}

TEST_CASE("names are the profile's own", "[top]") {
  Profile profile;
  for (const std::string& name : test::nasty_names()) {
    test::add_stack(profile, {"t", name}, 1);
  }
  Names sorted = test::nasty_names();
  std::ranges::sort(sorted);
  CHECK(names_of(profile, top_functions(profile, FunctionOrder::kSelf)) == sorted);
}

}  // namespace stackmap
