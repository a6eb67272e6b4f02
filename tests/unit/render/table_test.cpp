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

}  // namespace

TEST_CASE("the text is aligned, and says how much it left out", "[table]") {
  Profile profile = test::bytes_profile();
  profile.title = "kmalloc";
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
