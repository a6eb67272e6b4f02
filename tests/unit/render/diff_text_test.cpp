// SPDX-License-Identifier: Apache-2.0
#include "render/diff_text.h"

#include "support/catch.h"
#include "support/report_fixture.h"

namespace stackmap {

TEST_CASE("the largest change is first, and the head says how much is left out", "[diff_text]") {
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
  CHECK(test::written([&](TextWriter& out) { write_diff_table(*diff, 2, out); }) ==
        "Total: 50 events before, 90 events after: +40 (+80.0% of the total before)\n"
        "\n"
        "2 of 4 functions, the largest change first; events with callees, percent of the function's own before:\n"
        "      change    percent        before         after   self change  function\n"
        "         +40    +200.0%            20            60             0  parent\n"
        "         +20    +200.0%            10            30           +20  a\n");
}

TEST_CASE("changes in words", "[diff_text]") {
  CHECK(change_text(Unit::kEvents, 9, 0) == "-9");
  CHECK(change_percent(9, 0) == "-100.0%");
  CHECK(change_percent(0, 4) == "new");
  CHECK(change_percent(0, 0) == "0.0%");
  CHECK(change_percent(5, 5) == "0.0%");
  CHECK(change_text(Unit::kBytes, 1024, 3072) == "+2.0 KiB");
  CHECK(change_text(Unit::kBytes, 7, 7) == "0");
}

TEST_CASE("differential folded lines carry both weights", "[diff_text]") {
  Profile before;
  test::add_stack(before, {"V8 worker 7", "gone"}, 9);
  test::add_stack(before, {"t", "both"}, 2);
  Profile after;
  test::add_stack(after, {"t", "both"}, 3);
  test::add_stack(after, {"t", "new"}, 4);
  const auto diff = diff_profiles(before, after);
  REQUIRE(diff.ok());
  CHECK(test::written([&](TextWriter& out) { write_diff_folded(*diff, out); }) ==
        "V8 worker_7;gone 9 0\nt;both 2 3\nt;new 0 4\n");
}

}  // namespace stackmap
