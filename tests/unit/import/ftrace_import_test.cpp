// SPDX-License-Identifier: Apache-2.0
// Traces written by hand, imported and read back.
#include <algorithm>

#include "capture/map_file.h"
#include "profile/event_source.h"
#include "render/losses.h"
#include "render/script_text.h"
#include "support/catch.h"
#include "support/faulty_file.h"
#include "support/import_fixture.h"
#include "support/report_fixture.h"

using namespace stackmap;
using stackmap_test::Disk;
using stackmap_test::FaultyFile;
using stackmap_test::Imported;

namespace {

const std::string kMap =
    "stack_id 42 gen 1 ref 1337 depth 3\n => schedule+0x48/0xc0\n => [FTRACE TRAMPOLINE]\n => ext4_read+0x8/0x20 "
    "[ext4]\n"
    "stack_id 7 gen 1 ref 1 depth 1\n => 0xffffffffa0000000\n"
    "stack_id 42 gen 2 ref 1 depth 1\n => ext4_read [ext4]\n";

Imported import_of(const std::string& text, const std::vector<NamedText>& maps = {{"m", kMap}}) {
  return stackmap_test::imported("ftrace", {{"t", text}, maps});
}

std::string script(const Capture& capture, bool resolve = false) {
  ScriptOptions options;
  options.resolve = resolve;
  auto& generations = options.imported_generations.emplace();
  for (const CapturedStack& stack : capture.stacks()) {
    generations.insert(stack.cookie.generation());
  }
  return test::written([&](TextWriter& out) { REQUIRE(write_script(CaptureSource(capture), options, out).ok()); });
}

std::string error_of(const std::string& text, const std::vector<NamedText>& maps = {}) {
  return stackmap_test::import_error("ftrace", {{"t", text}, maps});
}

}  // namespace

TEST_CASE("what goes in comes out of script, line by line", "[ftrace_import]") {
  const std::string trace =
      "            bash-1234    [001] .....   123.456789: kmem_cache_free: call_site=f+0x1/0x2 ptr=0xff name=a b\n"
      "            bash-1234    [001] .....   123.456790: <stack_id 42 gen 1>\n"
      "     V8 worker 7-99      [003] .....   123.456791: my_event:  two spaces: and\ttab\n"
      "            bash-1234    [001] .....   123.456792: sched_switch: prev_comm=bash\n"
      "            bash-1234    [001] .....   123.456793: <stack trace>\n"
      " => schedule+0x48/0xc0\n"
      " => [FTRACE TRAMPOLINE]\n"
      " => name_only\n"
      "          <idle>-0       [000] .....   123.456794: my_event: \n";
  const Imported imported = import_of("# tracer: nop\n#\n" + trace);
  CHECK(imported.count("events") == 4);
  CHECK(imported.count("skipped_lines") == 0);
  // The time of a stack line is its event's, and a tab is escaped, as in every output.
  std::string expected = trace;
  expected.replace(expected.find("123.456790"), 10, "123.456789");
  expected.replace(expected.find("123.456793"), 10, "123.456792");
  expected.replace(expected.find('\t'), 1, "\\x09");
  CHECK(script(imported.capture) == expected);
  REQUIRE(imported.capture.event_types().size() == 3);
  CHECK(imported.capture.event_types()[0] == EventType{64, "kmem", "kmem_cache_free", {{"", FieldFormat::kString}}});
  CHECK(imported.capture.event_types()[1].full_name() == "ftrace:my_event");
  CHECK(imported.capture.event_types()[2].full_name() == "sched:sched_switch");
}

TEST_CASE("a cookie resolves to its own generation's frames, as they were written", "[ftrace_import]") {
  const Imported imported = import_of(
      "a-1 [000] ..... 1.000000: e: x\na-1 [000] ..... 1.000000: <stack_id 42 gen 1>\n"
      "a-1 [000] ..... 2.000000: e: y\na-1 [000] ..... 2.000000: <stack_id 42 gen 2>\n"
      "a-1 [000] ..... 3.000000: e: z\na-1 [000] ..... 3.000000: <stack_id 7 gen 1>\n");
  const std::string text = script(imported.capture, true);
  CHECK(text.find("1.000000: <stack trace>\n => schedule+0x48/0xc0\n => [FTRACE TRAMPOLINE]\n => ext4_read+0x8/0x20 "
                  "[ext4]\n") != std::string::npos);
  CHECK(text.find("2.000000: <stack trace>\n => ext4_read [ext4]\n") != std::string::npos);
  CHECK(text.find("3.000000: <stack trace>\n => 0xffffffffa0000000\n") != std::string::npos);
  CHECK(imported.capture.stack(Cookie(1, 42)).front() == 0x1000);
  CHECK(imported.capture.stack(Cookie(1, 7)).front() == 0xffffffffa0000000);
}

TEST_CASE("the map comes out with the frames that went in, and the refs of the trace", "[ftrace_import]") {
  const Imported imported =
      import_of("a-1 [000] ..... 1.000000: <stack_id 42 gen 1>\na-1 [000] ..... 2.000000: <stack_id 42 gen 1>\n");
  const std::string map = test::written([&](TextWriter& out) {
    write_map_file(
        imported.capture.stacks(), [&](uint64_t a) { return imported.capture.symbol_text(a); }, out);
  });
  CHECK(map ==
        "stack_id 7 gen 1 ref 0 depth 1\n => 0xffffffffa0000000\n"
        "stack_id 42 gen 1 ref 2 depth 3\n => schedule+0x48/0xc0\n => [FTRACE TRAMPOLINE]\n => ext4_read+0x8/0x20 "
        "[ext4]\n"
        "stack_id 42 gen 2 ref 0 depth 1\n => ext4_read [ext4]\n");
}

TEST_CASE("a stale cookie stays one and says what it would need", "[ftrace_import]") {
  const Imported imported = import_of(
      "a-1 [000] ..... 1.000000: e: x\na-1 [000] ..... 1.000000: <stack_id 42 gen 3>\n"
      "a-1 [000] ..... 2.000000: e: y\na-1 [000] ..... 2.000000: <stack_id 9 gen 1>\n");
  CHECK(imported.count("stale_cookies") == 1);
  CHECK(imported.count("unknown_cookies") == 1);
  const std::string text = script(imported.capture, true);
  CHECK(text.find("<stack_id 42 gen 3> stale: needs the stack_map of generation 3\n") != std::string::npos);
  CHECK(
      text.find(
          "<stack_id 9 gen 1> not in the stack_map of generation 1, which was saved before this stack was stored\n") !=
      std::string::npos);
  CHECK(import_of("a-1 [000] ..... 1.000000: <stack_id 1 gen 1>\n", {}).count("stale_cookies") == 1);
}

TEST_CASE("a stack belongs to the last event of its thread and CPU", "[ftrace_import]") {
  // Two CPUs at once, an interrupt with a stack of its own, an event without one, and a stack without an event.
  const Imported imported = import_of(
      "a-1 [000] d..1. 1.000000: one: x\n"
      "b-2 [001] d..1. 1.000001: two: x\n"
      "a-1 [000] d.h1. 1.000002: irq: x\n"
      "a-1 [000] d.h1. 1.000003: <stack_id 2 gen 1>\n"
      "a-1 [000] d..1. 1.000004: <stack_id 1 gen 1>\n"
      "b-2 [001] d..1. 1.000005: <stack_id 3 gen 1>\n"
      "a-1 [000] d..1. 1.000006: none: x\n"
      "b-2 [000] d..1. 1.000007: <stack_id 4 gen 1>\n"
      "a-1 [000] d..1. 1.000008: lost: x\n"
      "CPU:0 [LOST 5 EVENTS]\n"
      "a-1 [000] d..1. 1.000009: <stack_id 5 gen 1>\n"
      "CPU:1 [LOST EVENTS]\n",
      {});
  std::vector<std::pair<std::string, uint32_t>> seen;
  REQUIRE(imported.capture
              .for_each_event([&](const Event& event) {
                seen.emplace_back(imported.capture.event_type(event.type)->name, event.stack.cookie.slot());
                return true;
              })
              .ok());
  CHECK(seen == std::vector<std::pair<std::string, uint32_t>>{
                    {"one", 1}, {"two", 3}, {"irq", 2}, {"none", 0}, {"stack", 4}, {"lost", 0}, {"stack", 5}});
  CHECK(imported.count("lost_events") == 5);
  CHECK(imported.count("lost_uncounted") == 1);
  CHECK(one_line_summary(imported.capture.ledger()) == "the trace says that 5 of its events were lost");
}

TEST_CASE("threads are known by their names and processes", "[ftrace_import]") {
  const Imported imported = import_of(
      "<...>-5 (-------) [000] ..... 1.000000: e: x\n"
      "bash-5 (     4) [000] ..... 2.000000: e: x\n"
      "sh-5 (     4) [000] ..... 3.000000: e: x\n"
      "<idle>-0 [000] ..... 3.000000: e: x\n");
  CHECK(imported.capture.tasks().name(5, 1000000000).comm == "bash");  // the first name holds from the beginning
  CHECK(imported.capture.tasks().name(5, 2000000000).comm == "bash");
  CHECK(imported.capture.tasks().name(5, 3000000000).comm == "sh");
  CHECK(imported.capture.tasks().name(5, 3000000000).tgid == 4);
  const auto tasks = imported.capture.tasks().records();
  CHECK(std::ranges::count(tasks, 5U, &TaskRecord::tid) == std::ssize(tasks));
}

TEST_CASE("text without a name, function lines and user stacks", "[ftrace_import]") {
  const Imported imported = import_of(
      "a-1 [000] ..... 1.000000: vfs_read <-ksys_read\na-1 [000] ..... 1.000000: <stack_id 42 gen 1>\n"
      "a-1 [000] ..... 2.000000: sys_openat(dfd: 3)\n"
      "a-1 [000] ..... 2.000000: <user stack trace>\n => /bin/sh[+0x1]\n");
  CHECK(imported.count("user_stacks") == 1);
  CHECK(imported.count("skipped_lines") == 0);
  const std::string text = script(imported.capture);
  CHECK(text.find("1.000000: function: vfs_read <-ksys_read\n") != std::string::npos);
  CHECK(text.find("2.000000: text: sys_openat(dfd: 3)\n") != std::string::npos);
  CHECK(text.find("/bin/sh") == std::string::npos);
}

TEST_CASE("lines that are not understood are counted, and the first is told", "[ftrace_import]") {
  const Imported imported =
      import_of("# x\nhello\na-1 [000] ..... 1.000000: e: x\n => stray\na-1 [000] ..... 1.000000: e: cut");
  CHECK(imported.count("events") == 1);
  CHECK(imported.count("skipped_lines") == 3);
  CHECK(imported.warnings ==
        std::vector<std::string>{"lines that were not understood and are left out: 3; the first: t:2: 'hello'"});
  CHECK(error_of("hello\nworld\n") == "no line of it is one of a trace: t:1: 'hello'");
  CHECK(error_of("# tracer: nop\n") == "t has no events");
  CHECK(error_of("") == "t has no events");
  std::string long_line;
  long_line.append(70000, 'a');
  long_line += "-1 [000] ..... 1.000000: e: x\n";
  CHECK(error_of(long_line).starts_with("no line"));
}

TEST_CASE("maps of one generation are merged, and a contradiction is told with both places", "[ftrace_import]") {
  const std::string trace = "a-1 [000] ..... 1.000000: <stack_id 1 gen 1>\n";
  const std::string first = "stack_id 1 gen 1 ref 1 depth 1\n => a+0x1/0x2\n";
  const std::string later = "stack_id 2 gen 1 ref 1 depth 1\n => b+0x1/0x2\n" + first;
  const Imported merged = import_of(trace, {{"m1", first}, {"m2", later}});
  CHECK(merged.stacks == 2);
  CHECK(merged.capture.symbol_text(merged.capture.stack(Cookie(1, 1)).front()) == "a+0x1/0x2");
  const std::string other =
      "stack_id 2 gen 1 ref 1 depth 1\n => b+0x1/0x2\nstack_id 1 gen 1 ref 1 depth 1\n => c+0x1/0x2\n";
  CHECK(error_of(trace, {{"m1", first}, {"m2", other}}) == "m2:3: <stack_id 1 gen 1> has other frames than at m1:1");
  CHECK(error_of(trace, {{"m1", "nonsense\n"}}) == "m1:1: expected 'stack_id N gen G ref R depth D'");
  CHECK(error_of(trace, {{"m1", "stack_id 1 gen 0 ref 1 depth 0\n"}}) == "m1:1: no map has such a cookie");
  CHECK(error_of(trace, {{"m1", "stack_id 8388608 gen 1 ref 1 depth 0\n"}}) == "m1:1: no map has such a cookie");
}

TEST_CASE("more event names than there are numbers, and stacks deeper than any", "[ftrace_import]") {
  std::string trace;
  for (int i = 0; i < 4200; ++i) {
    trace += "a-1 [000] ..... 1.000000: event_" + std::to_string(i) + ": x\n";
  }
  trace += "a-1 [000] ..... 1.000000: <stack trace>\n";
  for (int i = 0; i < 5000; ++i) {
    trace += " => f+0x1/0x2\n";
  }
  const Imported imported = import_of(trace);
  CHECK(imported.warnings == std::vector<std::string>{"frames that are left out, of stacks of more than 4096: 904"});
  CHECK(imported.count("events") == 4200);
  CHECK(imported.count("skipped_lines") == 0);
  CHECK(imported.capture.event_types().back().id == 4094);
  CHECK(imported.capture.event_types().back().name == "text");
  CHECK(script(imported.capture).find("text: event_4199: x\n") != std::string::npos);
}

TEST_CASE("a disk that fills up is an error", "[ftrace_import]") {
  const ImportInput input{{"t", "a-1 [000] ..... 1.000000: e: x\n"}, {}};
  const auto import = stackmap_test::read_import("ftrace", input);
  REQUIRE(import.ok());
  for (size_t at = 0; at < 3; ++at) {
    auto disk = std::make_shared<Disk>();
    disk->fail_at = at;
    disk->keep_failing = true;
    CHECK_FALSE(import->capture.write(std::make_unique<FaultyFile>(disk), {}).ok());
  }
}
