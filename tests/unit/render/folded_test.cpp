// SPDX-License-Identifier: Apache-2.0
#include "render/folded.h"

#include <map>

#include "base/text.h"
#include "support/catch.h"
#include "support/faulty_file.h"
#include "support/report_fixture.h"

namespace stackmap {

namespace {

std::string folded(const Profile& profile, const FormatOptions& options = {},
                   std::vector<std::string>* notes = nullptr) {
  return test::written([&](TextWriter& out) {
    const std::vector<std::string> said = write_folded(profile, options, out);
    if (notes != nullptr) {
      *notes = said;
    }
  });
}

// A reader that shares nothing with the writer: the last space parts stack and count, ';' parts frames.
std::map<std::vector<std::string>, uint64_t> read_folded(const std::string& text) {
  std::map<std::vector<std::string>, uint64_t> stacks;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = text.find('\n', at);
    REQUIRE(end != std::string::npos);
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const size_t space = line.rfind(' ');
    REQUIRE(space != std::string::npos);
    std::vector<std::string> frames;
    size_t from = 0;
    for (;;) {
      const size_t semicolon = line.find(';', from);
      if (semicolon == std::string::npos || semicolon > space) {
        frames.push_back(line.substr(from, space - from));
        break;
      }
      frames.push_back(line.substr(from, semicolon - from));
      from = semicolon + 1;
    }
    const bool added = stacks.emplace(frames, std::stoull(line.substr(space + 1))).second;
    REQUIRE(added);
  }
  return stacks;
}

// flamegraph.pl's pattern of a number after white space, \s+?(\d+(?:\.\d*)?)$, by hand.
bool ends_in_number(const std::string& text) {
  const size_t space = text.find_last_of(" \t\r\n\f\v");
  if (space == std::string::npos) {
    return false;
  }
  const std::string number = text.substr(space + 1);
  const std::string whole = number.substr(0, number.find('.'));
  const std::string fraction = number.size() == whole.size() ? "" : number.substr(whole.size() + 1);
  const std::string digits = "0123456789";
  return !whole.empty() && whole.find_first_not_of(digits) == std::string::npos &&
         fraction.find_first_not_of(digits) == std::string::npos;
}

}  // namespace

TEST_CASE("the check for a number at the end is flamegraph.pl's", "[folded]") {
  CHECK(ends_in_number("a;worker 7"));
  CHECK(ends_in_number("a 1.5"));
  CHECK(ends_in_number("a 1."));
  CHECK_FALSE(ends_in_number("a .5"));
  CHECK_FALSE(ends_in_number("a x7"));
  CHECK_FALSE(ends_in_number("a7"));
}

TEST_CASE("a line a stack, root first, sorted", "[folded]") {
  Profile profile;
  test::add_stack(profile, {"make", "entry", "kmalloc"}, 3);
  test::add_stack(profile, {"bash", "entry", "kmalloc"}, 40);
  CHECK(folded(profile) == "bash;entry;kmalloc 40\nmake;entry;kmalloc 3\n");
  CHECK(folded(profile, {.kernel_names = KernelNames::kSuffixed}) ==
        "bash;entry_[k];kmalloc_[k] 40\nmake;entry_[k];kmalloc_[k] 3\n");
}

TEST_CASE("frames by the rules that five readers set", "[folded]") {
  CHECK(folded_frame("<[u8; 100] as Debug>::fmt", FramePlace::kWithin) == "<[u8: 100] as Debug>::fmt");
  CHECK(folded_frame("V8 worker 7", FramePlace::kLineStart) == "V8 worker_7");
  CHECK(folded_frame("日本 worker 7", FramePlace::kLineStart) == "日本 worker_7");
  CHECK(folded_frame("a 1 2", FramePlace::kLineStart) == "a 1_2");
  CHECK(folded_frame("v 1.5", FramePlace::kLineStart) == "v_1.5");
  CHECK(folded_frame("v 1.", FramePlace::kLineStart) == "v_1.");
  CHECK(folded_frame("v .5", FramePlace::kLineStart) == "v .5");  // no reader takes that for a number
  CHECK(folded_frame("v1 x7", FramePlace::kLineStart) == "v1 x7");
  CHECK(folded_frame("7", FramePlace::kLineStart) == "7");
  CHECK(folded_frame(" 7", FramePlace::kLineStart) == "_7");
  CHECK(folded_frame("a 7 ", FramePlace::kLineStart) == "a 7_");
  CHECK(folded_frame("    main", FramePlace::kWithin) == "____main");
  CHECK(folded_frame("   ", FramePlace::kWithin) == "___");
  CHECK(folded_frame("", FramePlace::kWithin) == "[empty]");
  CHECK(folded_frame("#x", FramePlace::kLineStart) == "\\x23x");
  CHECK(folded_frame("#x", FramePlace::kWithin) == "#x");
  CHECK(folded_frame("[ET_NET 0]", FramePlace::kLineStart) == "[ET_NET 0]");
  CHECK(folded_frame("a\tb\r", FramePlace::kWithin) == "a\\x09b\\x0d");
}

TEST_CASE("case 1: a C++ name is never cut at a bracket", "[folded]") {
  Profile profile;
  const std::string name =
      "std::_Function_handler<void (vg::Alignment&), main_gaffe(int, char**)::{lambda()#1}>::_M_invoke";
  test::add_stack(profile, {"vg", name, "leaf"}, 2);
  CHECK(folded(profile) == "vg;" + name + ";leaf 2\n");
}

TEST_CASE("any pair of nasty names makes lines that every reader's pattern takes whole", "[folded]") {
  const auto& names = test::nasty_names();
  for (const std::string& root : names) {
    for (const std::string& leaf : names) {
      Profile profile;
      test::add_stack(profile, {root, leaf}, (uint64_t{1} << 40) + 4096);
      const std::string text = folded(profile);
      CAPTURE(text);
      REQUIRE(text.back() == '\n');
      const std::string line = text.substr(0, text.size() - 1);
      REQUIRE(is_utf8(line));
      REQUIRE(line.find('\n') == std::string::npos);
      REQUIRE(line[0] != '#');
      REQUIRE(line.ends_with(" 1099511631872"));
      REQUIRE_FALSE(ends_in_number(line.substr(0, line.rfind(' '))));  // else a differential line
      const auto read = read_folded(text);
      const auto& frames = read.begin()->first;
      REQUIRE(frames.size() == 2);
      for (const std::string& frame : frames) {
        REQUIRE_FALSE(frame.empty());
        REQUIRE(frame.front() != ' ');
        REQUIRE(frame.back() != ' ');
      }
    }
  }
}

TEST_CASE("nasty names stay apart unless the rules make them one", "[folded]") {
  Profile profile;
  for (const std::string& name : test::nasty_names()) {
    test::add_stack(profile, {"task", name}, 1);
  }
  CHECK(read_folded(folded(profile)).size() == test::nasty_names().size());
}

TEST_CASE("stacks that become the same line are added up", "[folded]") {
  Profile profile;
  test::add_stack(profile, {"t", "a;b"}, 1);
  test::add_stack(profile, {"t", "a:b"}, 2);
  CHECK(folded(profile) == "t;a:b 3\n");
}

TEST_CASE("a stack of one frame or none has a root all the same", "[folded]") {
  Profile profile;
  profile.add(std::vector<FrameId>{profile.frame("[no stack]", FrameKind::kBucket)}, std::vector<uint64_t>{4});
  profile.add({}, std::vector<uint64_t>{2});
  CHECK(folded(profile) == "all;[empty stack] 2\nall;[no stack] 4\n");
}

TEST_CASE("counts are whole numbers above nought, large ones are exact and noted", "[folded]") {
  Profile profile;
  test::add_stack(profile, {"t", "zero"}, 0);
  test::add_stack(profile, {"t", "limit"}, uint64_t{1} << 53);
  const std::string zero = "stacks that weigh nothing, left out: 1";
  const std::string large = "some readers keep sums in binary64 and will round these, which go above 2^53";
  std::vector<std::string> notes;
  CHECK(folded(profile, {}, &notes) == "t;limit 9007199254740992\n");
  CHECK(notes == std::vector<std::string>{zero});
  test::add_stack(profile, {"t", "limit"}, 1);
  CHECK(folded(profile, {}, &notes) == "t;limit 9007199254740993\n");
  CHECK(notes == std::vector<std::string>{zero, large});
}

TEST_CASE("127 frames and 100,000 stacks keep their total", "[folded]") {
  Profile profile;
  std::vector<std::string> deep(128, "frame");
  test::add_stack(profile, deep, 5);
  for (int i = 0; i < 100000; ++i) {
    test::add_stack(profile, {"t", "f" + std::to_string(i)}, 2);
  }
  const auto read = read_folded(folded(profile));
  CHECK(read.size() == 100001);
  CHECK(read.at(deep) == 5);
  uint64_t total = 0;
  for (const auto& [frames, value] : read) {
    total += value;
  }
  CHECK(total == 200005);
}

TEST_CASE("a failed write is reported at flush", "[folded]") {
  Profile profile;
  test::add_stack(profile, {"t", "a"}, 1);
  stackmap_test::FaultyFile file = stackmap_test::full_file();
  TextWriter out(file);
  write_folded(profile, {}, out);
  CHECK_FALSE(out.flush().ok());
}

}  // namespace stackmap
