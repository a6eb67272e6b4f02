// SPDX-License-Identifier: Apache-2.0
// Folded texts written by hand, imported and read back.
#include <map>

#include "profile/aggregate.h"
#include "render/folded.h"
#include "render/losses.h"
#include "support/import_fixture.h"
#include "support/report_fixture.h"

using namespace stackmap;
using stackmap_test::Imported;

namespace {

Imported import_of(const std::string& text) {
  return stackmap_test::imported("folded", {{"f", text}, {}});
}

std::string error_of(const std::string& text) {
  return stackmap_test::import_error("folded", {{"f", text}, {}});
}

std::string folded_of(const Profile& profile) {
  return test::written([&](TextWriter& out) { (void)write_folded(profile, {}, out); });
}

// As `export --format folded` writes it.
std::string exported(const Imported& imported) {
  const auto made = aggregate(CaptureSource(imported.capture), {}, {});
  REQUIRE(made.ok());
  return folded_of(*made);
}

// Every stack as it is in the capture, "ROOT|FRAME|FRAME", with its count.
std::map<std::string, uint64_t> stacks_of(const Capture& capture) {
  std::map<std::string, uint64_t> stacks;
  REQUIRE(capture
              .for_each_event([&](const Event& event) {
                std::string line = capture.tasks().name(event.tid, event.time_ns).comm;
                const auto frames = capture.stack(event.stack.cookie);
                for (size_t i = frames.size(); i-- > 0;) {
                  line += "|" + capture.symbol_text(frames[i]);
                }
                REQUIRE(event.fields.size() == 1);
                stacks[line] += event.fields[0];
                return true;
              })
              .ok());
  return stacks;
}

using Stacks = std::map<std::string, uint64_t>;

}  // namespace

TEST_CASE("what goes in comes out of the export, byte by byte", "[folded_import]") {
  const std::string text =
      "all;main 7\n"
      "java;start_thread;JavaMain;[unknown] 12\n"
      "java;start_thread;Lcom/x/Y;::run_[j] 3\n"
      "swapper/0;secondary_startup_64;cpu_idle_[k] 1000000000\n"
      "swapper/0;secondary_startup_64;cpu_idle_[k];read_hpet [kernel.kallsyms] 18446744072709551615\n";
  // The third line's frame has a ';' in its name, so it is two frames, for every reader of the format.
  const Imported imported = import_of(text);
  CHECK(exported(imported) == text);
  CHECK(imported.count("events") == 5);
  CHECK(imported.count("skipped_lines") == 0);
  CHECK(imported.stacks == 5);
  REQUIRE(imported.capture.event_types().size() == 1);
  CHECK(imported.capture.event_types()[0] == EventType{64, "folded", "sample", {{"samples", FieldFormat::kRepeat}}});
}

TEST_CASE("a count costs nothing, however large", "[folded_import]") {
  const auto bytes = [](const std::string& text) {
    auto import = stackmap_test::read_import("folded", {{"f", text}, {}});
    REQUIRE(import.ok());
    auto disk = std::make_shared<stackmap_test::Disk>();
    REQUIRE(import->capture.write(std::make_unique<stackmap_test::FaultyFile>(disk), {}).ok());
    return disk->bytes.size();
  };
  CHECK(bytes("a;b 9223372036854775807\n") < bytes("a;b 1\n") + 32);
  const auto made = aggregate(CaptureSource(import_of("a;b 1000000000\na;c 2\na;b 1\n").capture), {}, {});
  REQUIRE(made.ok());
  CHECK(made->total() == 1000000003);
}

TEST_CASE("our own export comes back as it was, with every name that has broken a tool", "[folded_import]") {
  Profile profile;
  uint64_t value = 1;
  for (const std::string& name : test::nasty_names()) {
    if (name.find('\0') != std::string::npos) {
      continue;  // no capture has one
    }
    test::add_stack(profile, {name, "frame"}, value++);
    test::add_stack(profile, {"root", name}, value++);
    test::add_stack(profile, {"root", name, name, "leaf"}, value++);
    test::add_stack(profile, {name}, value++);
  }
  for (const char* name : {"\\x41", "\\\\x41", "\\", "\\\\", "a\\x", "\\x0"}) {
    test::add_stack(profile, {name, name}, value++);
  }
  const std::string text = folded_of(profile);
  const Imported imported = import_of(text);
  CHECK(imported.count("skipped_lines") == 0);
  CHECK(exported(imported) == text);
}

TEST_CASE("escaped bytes are the bytes again, so that names are those of the recording", "[folded_import]") {
  CHECK(stacks_of(import_of("bad\\xff\\xfe;soh\\x01;\\\\x41 2\n").capture) == Stacks{{"bad\xff\xfe|soh\x01|\\x41", 2}});
  CHECK(stacks_of(import_of("\\x23a;b 1\n").capture) == Stacks{{"#a|b", 1}});
  // Another tool's: no byte that our export would write so.
  CHECK(stacks_of(import_of("unit-a\\x2db;\\x4;\\xzz 1\n").capture) == Stacks{{"unit-a\\x2db|\\x4|\\xzz", 1}});
}

TEST_CASE("names are whole: brackets, blanks, offsets, markup", "[folded_import]") {
  const std::string function =
      "std::_Function_handler<void (vg::Alignment&), main_gaffe(int, char**)::{lambda()#1}>::_M_invoke+0x12";
  CHECK(stacks_of(import_of("main;" + function + " 3\n").capture) == Stacks{{"main|" + function, 3}});
  CHECK(stacks_of(import_of("main;std::vector<int, std::allocator<int> >::push_back;<&\"'> 4\n").capture) ==
        Stacks{{"main|std::vector<int, std::allocator<int> >::push_back|<&\"'>", 4}});
  // What the kernel would print as a symbol, a module or an address is a name here.
  const Imported imported = import_of("a;f+0x1/0x2 [ext4];0xffffffff81000000;g [ext4] 5\n");
  CHECK(stacks_of(imported.capture) == Stacks{{"a|f+0x1/0x2 [ext4]|0xffffffff81000000|g [ext4]", 5}});
  CHECK(exported(imported) == "a;f+0x1/0x2 [ext4];0xffffffff81000000;g [ext4] 5\n");
}

TEST_CASE("odd thread names are one root each", "[folded_import]") {
  const Imported imported =
      import_of("[ET_NET 0];x 1\na b)c;x 2\nbad\xff;x 3\n;x 4\nmuch longer than fifteen bytes;x 5\nV8 worker 7;x 6\n");
  CHECK(stacks_of(imported.capture) == Stacks{{"[ET_NET 0]|x", 1},
                                              {"a b)c|x", 2},
                                              {"bad\xff|x", 3},
                                              {"[empty]|x", 4},
                                              {"much longer than fifteen bytes|x", 5},
                                              {"V8 worker 7|x", 6}});
  CHECK(imported.capture.tasks().records().size() == 6);
  CHECK(imported.stacks == 1);
}

TEST_CASE("stray blanks, line ends and empty frames", "[folded_import]") {
  CHECK(stacks_of(import_of("    main;    foo  1\n\tmain; bar\t2  \r\nmain;;x; 3\r\n\n \n# a comment\n").capture) ==
        Stacks{{"main|foo", 1}, {"main|bar", 2}, {"main|[empty]|x|[empty]", 3}});
  CHECK(import_of("a;b 1\n\r\n# c\n").count("skipped_lines") == 0);
}

TEST_CASE("a stack of one frame gets the root all", "[folded_import]") {
  CHECK(stacks_of(import_of("main 5\nmy main 6\n").capture) == Stacks{{"all|main", 5}, {"all|my main", 6}});
}

TEST_CASE("deep stacks are whole, and one that no reader would take is told", "[folded_import]") {
  const auto deep = [](size_t frames) {
    std::string text = "root";
    for (size_t i = 1; i < frames; ++i) {
      text += ";f" + std::to_string(i % 7);
    }
    return text + " 1\n";
  };
  const std::string whole = deep(5000) + deep(65536);
  const Imported imported = import_of(whole);
  CHECK(imported.count("skipped_lines") == 0);
  CHECK(exported(imported) == whole);
  CHECK(error_of(deep(65537)).find("': a stack of more than 65536 frames") != std::string::npos);
  CHECK(error_of("a;" + std::string(size_t{16} << 20, 'x') + " 1\n").find("': longer than 16.0 MiB") !=
        std::string::npos);
}

TEST_CASE("many deep recursions are whole, though next to nothing is stored of them", "[folded_import]") {
  std::string whole;
  std::string stack = "root";
  for (int depth = 1; depth <= 3200; ++depth) {
    stack += ";f";
    whole += stack + " 1\n";
  }
  const Imported imported = import_of(whole);  // which checks that nothing is dropped as damaged
  CHECK(exported(imported) == whole);
  CHECK(imported.stacks == 128);
  CHECK(imported.summary == "samples: 3,200; stacks of more than 128 frames, which stand in their events: 3,072");
}

TEST_CASE("lines that are no stacks are counted, and the first is told with its reason", "[folded_import]") {
  const std::pair<std::string, std::string> lines[] = {
      {"main;foo\n", "no count behind the stack"},
      {"main;foo \n", "no count behind the stack"},
      {"main;foo x1\n", "no count behind the stack"},
      {"main;foo 1x\n", "no count behind the stack"},
      {"main;foo -\n", "no count behind the stack"},
      {"main;foo +5\n", "no count behind the stack"},
      {"main;foo -5\n", "the count is below 0"},
      {"main;foo 2.5\n", "the count is no whole number"},
      {"main;foo 18446744073709551616\n", "the count is above 2^64 - 1"},
      {"17\n", "no stack before the count"},
      {"main;foo 1", "it has no line break, so it may be cut"},
  };
  for (const auto& [line, why] : lines) {
    const std::string shown = line.substr(0, line.find('\n'));
    CHECK(error_of(line) == "no line of it is a folded stack: f:1: '" + shown + "': " + why);
    const Imported imported = import_of("a;b 1\n" + line);
    CHECK(imported.count("skipped_lines") == 1);
    CHECK(imported.warnings ==
          std::vector<std::string>{"lines that were not understood and are left out: 1; the first: f:2: '" + shown +
                                   "': " + why});
    CHECK(stacks_of(imported.capture) == Stacks{{"a|b", 1}});
  }
  CHECK(error_of("") == "f has no stacks");
  CHECK(error_of("# a comment\n\n") == "f has no stacks");
  CHECK(error_of(std::string("a\0b 1\n", 6)) ==
        "no line of it is a folded stack: f:1: 'a\\x00b 1': it has a NUL byte, so this is no text");
}

TEST_CASE("two numbers at the end are told, as in a differential file", "[folded_import]") {
  const Imported imported = import_of("main;foo 1 4\nmain;bar 2\nmain 7;x 1\n");
  CHECK(stacks_of(imported.capture) == Stacks{{"main|foo 1", 4}, {"main|bar", 2}, {"main 7|x", 1}});
  REQUIRE(imported.warnings.size() == 1);
  CHECK(imported.warnings[0].starts_with(
      "lines with a number before the count, which is taken for a part of the name: 1;"));
}

TEST_CASE("counts that add up to more than 64 bits hold are told, and noughts are no fault", "[folded_import]") {
  CHECK(import_of("a;b 18446744073709551615\n").warnings.empty());
  CHECK(import_of("a;b 18446744073709551615\na;b 1\n").warnings.size() == 1);
  const Imported nought = import_of("a;b 0\na;c 2\n");
  CHECK(nought.warnings.empty());
  CHECK(nought.summary == "samples: 2");
  CHECK(exported(nought) == "a;c 2\n");
}

TEST_CASE("an import says nothing of what the tool that made the text has lost", "[folded_import]") {
  CHECK(one_line_summary(import_of("a;b 1\n").capture.ledger()) == "what was lost is not known");
}
