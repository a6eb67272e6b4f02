// SPDX-License-Identifier: Apache-2.0
#include "render/table.h"

#include "base/text.h"
#include "support/catch.h"
#include "support/report_fixture.h"

namespace stackmap {

namespace {

std::string table(const Profile& profile, const TableOptions& options = {}) {
  return test::written([&](TextWriter& out) { write_table(profile, options, out); });
}

const FunctionRow& row_of(const std::vector<FunctionRow>& rows, const std::string& name) {
  for (const FunctionRow& row : rows) {
    if (row.name == name) {
      return row;
    }
  }
  FAIL("no row " << name);
  return rows[0];
}

}  // namespace

TEST_CASE("a function counts once a stack, also when it recurs", "[table]") {
  Profile profile;
  test::add_stack(profile, {"t", "f", "g", "f"}, 10);
  test::add_stack(profile, {"u", "f", "h"}, 5);
  test::add_stack(profile, {"f", "h"}, 1);  // a task that is called like a function
  const auto rows = top_functions(profile, false);
  CHECK(rows.size() == 3);
  CHECK(row_of(rows, "f").total == 15);
  CHECK(row_of(rows, "f").self == 10);
  CHECK(row_of(rows, "g").total == 10);
  CHECK(row_of(rows, "g").self == 0);
  CHECK(row_of(rows, "h").self == 6);
  CHECK(rows[0].name == "f");
  CHECK(rows[1].name == "h");
  const auto by_total = top_functions(profile, true);
  CHECK(by_total[1].name == "g");
}

TEST_CASE("a stack of several tasks is one row, and equal weights are in order of name", "[table]") {
  Profile profile;
  test::add_stack(profile, {"bash", "entry", "b"}, 3, 1);
  test::add_stack(profile, {"make", "entry", "b"}, 4, 2);
  test::add_stack(profile, {"make", "entry", "a"}, 7, 3);
  test::add_stack(profile, {"make", "other", "a"}, 7, 3);
  test::add_stack(profile, {"make", "c"}, 1);
  const auto rows = top_stacks(profile, 3);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].frames == std::vector<std::string>{"a", "entry"});
  CHECK(rows[0].tasks == std::vector<std::string>{"make"});
  CHECK(rows[1].frames == std::vector<std::string>{"a", "other"});
  CHECK(rows[2].frames == std::vector<std::string>{"b", "entry"});
  CHECK(rows[2].tasks == std::vector<std::string>{"bash", "make"});
  CHECK(rows[2].value == 7);
  CHECK(rows[2].count == 3);
  CHECK(top_stacks(profile, 0).size() == 4);
}

TEST_CASE("the text is aligned, and says how much it left out", "[table]") {
  Profile profile;
  profile.title = "kmalloc";
  profile.unit = Unit::kBytes;
  profile.notes = {"2 failed allocations are not counted as bytes"};
  test::add_stack(profile, {"bash", "entry", "leaf"}, 3072, 1200);
  test::add_stack(profile, {"make", "entry", "leaf"}, 512, 1);
  test::add_stack(profile, {"make", "other"}, 512, 1);
  CHECK(table(profile, {.limit = 1}) ==
        "kmalloc\n"
        "Total: 4.0 KiB (4,096 bytes) in 1,202 events\n"
        "Note: 2 failed allocations are not counted as bytes\n"
        "\n"
        "Top 1 of 2 stacks, by bytes:\n"
        "  rank         bytes    share        events  task\n"
        "     1       3.5 KiB    87.5%         1,201  2 tasks\n"
        "        leaf\n"
        "        entry\n"
        "\n"
        "Top 1 of 3 functions, by self bytes:\n"
        "          self    share         total    share  function\n"
        "       3.5 KiB    87.5%       3.5 KiB    87.5%  leaf\n");
}

TEST_CASE("parts can be left out", "[table]") {
  Profile profile;
  test::add_stack(profile, {"bash", "a", "b", "c"}, 2);
  CHECK(table(profile, {.functions = false, .max_frames = 2}) ==
        "Total: 2 events\n"
        "\n"
        "All 1 stack, by events:\n"
        "  rank        events    share  task\n"
        "     1             2   100.0%  bash\n"
        "        c\n"
        "        b\n"
        "        (1 more)\n");
  CHECK(table(profile, {.stacks = false}).find("rank") == std::string::npos);
  CHECK(table(Profile()) == "Total: 0 events\n");
}

TEST_CASE("nasty names make no control bytes and no lines of their own", "[table]") {
  Profile profile;
  for (const std::string& name : test::nasty_names()) {
    test::add_stack(profile, {name, name}, 1);
  }
  const std::string text = table(profile, {.limit = 0});
  CHECK(is_utf8(text));
  CHECK(text.find('\x1b') == std::string::npos);
  // Total, blank, two headings of two lines, a blank; a stack takes two lines, a function one.
  CHECK(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) == 7 + 3 * test::nasty_names().size());
}

}  // namespace stackmap
