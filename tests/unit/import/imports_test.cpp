// SPDX-License-Identifier: Apache-2.0
// What the imports share: the list of them, and the tables that a capture is built from.
#include "import/imports.h"

#include <set>

#include "import/text_lines.h"
#include "support/catch.h"

using namespace stackmap;

TEST_CASE("every import is found by its name and says what it takes", "[imports]") {
  std::set<std::string_view> names;
  for (const ImportFormat& format : import_formats()) {
    CHECK(names.insert(format.name).second);
    CHECK(find_import_format(format.name) == &format);
    CHECK_FALSE(format.help.empty());
    CHECK_FALSE(format.file.empty());
    CHECK_FALSE(format.symbol_source.empty());
    CHECK(format.memory_factor != 0);
    const ImportInput nothing{{"NAME", ""}, {}};
    const auto import = format.read(nothing);
    REQUIRE_FALSE(import.ok());
    CHECK(import.error().kind == ErrorKind::kCorrupt);
    CHECK(import.error().message().starts_with("NAME has no "));
  }
  CHECK(names.contains("ftrace"));
  CHECK(find_import_format("") == nullptr);
  CHECK(find_import_format("ftrace ") == nullptr);
}

TEST_CASE("a stack has one cookie and a cookie one stack", "[imports]") {
  const std::vector<uint64_t> a = {1, 2, 3};
  const std::vector<uint64_t> b = {1, 2};
  ImportedStacks interned;
  const Cookie first = interned.intern(a);
  const Cookie second = interned.intern(b);
  CHECK(first == Cookie(1, 0));
  CHECK(second == Cookie(1, 1));
  CHECK(interned.intern(a) == first);
  CHECK(interned.size() == 2);
  CHECK(std::ranges::equal(interned.frames(interned.places().at(first)), a));
  CHECK(std::ranges::equal(interned.frames(interned.places().at(second)), b));

  ImportedStacks given;
  CHECK(given.add(Cookie(2, 9), a));
  CHECK(given.add(Cookie(1, 9), b));
  CHECK(given.add(Cookie(2, 9), a));
  CHECK_FALSE(given.add(Cookie(2, 9), b));
  CHECK(given.contains(Cookie(1, 9)));
  CHECK_FALSE(given.contains(Cookie(1, 8)));
  CHECK(given.places().begin()->first == Cookie(1, 9));
}

TEST_CASE("a thread's record says what changed", "[imports]") {
  ThreadNames threads;
  threads.see(1, 0, 5, "idle");  // has none
  threads.see(2, 7, 0, "");      // nothing is known
  threads.see(3, 7, 4, "");
  threads.see(4, 7, 0, "a");
  threads.see(5, 7, 4, "a");
  threads.see(6, 7, 4, "b");
  CHECK(threads.records() == std::vector<TaskRecord>{{3, TaskChange::kSeen, 7, 4, 0, ""},
                                                     {4, TaskChange::kRename, 7, 0, 0, "a"},
                                                     {5, TaskChange::kRename, 7, 4, 0, "a"},
                                                     {6, TaskChange::kRename, 7, 4, 0, "b"}});
}

TEST_CASE("lines have numbers, and the last may have no end", "[imports]") {
  LineReader lines("a\n\nb");
  auto line = lines.next();
  REQUIRE(line);
  CHECK((line->number == 1 && line->text == "a" && line->ended));
  line = lines.next();
  REQUIRE(line);
  CHECK((line->number == 2 && line->text.empty() && line->ended));
  line = lines.next();
  REQUIRE(line);
  CHECK((line->number == 3 && line->text == "b" && !line->ended));
  CHECK_FALSE(lines.next());
  CHECK_FALSE(LineReader("").next());
}

TEST_CASE("the first line that is skipped is shown, cut and without control bytes", "[imports]") {
  SkippedLines skipped;
  CHECK(skipped.first().empty());
  skipped.add("f", {7, "\x1b[31m" + std::string(100, 'x'), true}, "too red");
  skipped.add("f", {8, "later", true});
  CHECK(skipped.count() == 2);
  CHECK(skipped.first() == "f:7: '\\x1b[31m" + std::string(75, 'x') + "': too red");
}
