// SPDX-License-Identifier: Apache-2.0
// Lines as the kernel's trace_print_context(), trace_stack_print() and trace_stack_id_print() make them.
#include "import/ftrace_line.h"

#include "support/catch.h"

namespace stackmap {

using Kind = TraceLine::Kind;

TEST_CASE("an event line has its columns", "[ftrace_line]") {
  const auto line = parse_trace_line("            bash-1234    [001] d.h2.   123.456789: kfree: call_site=f ptr=0x1");
  REQUIRE(line.kind == Kind::kEvent);
  CHECK(line.comm == "bash");
  CHECK(line.tid == 1234);
  CHECK(line.tgid == 0);
  CHECK(line.cpu == 1);
  CHECK(line.level == 2);
  CHECK(line.time_ns == 123456789000);
  CHECK(line.text == "kfree: call_site=f ptr=0x1");
}

TEST_CASE("the columns of process and flags may be missing", "[ftrace_line]") {
  const auto process = parse_trace_line("            bash-1234    (   1200) [001] d..2.   123.456789: e: x");
  CHECK(process.kind == Kind::kEvent);
  CHECK(process.tgid == 1200);
  CHECK(process.tid == 1234);
  const auto unknown = parse_trace_line("            bash-1234    (-------) [001] d..2.   123.456789: e: x");
  CHECK(unknown.kind == Kind::kEvent);
  CHECK(unknown.tgid == 0);
  const auto bare = parse_trace_line("            bash-1234    [001]   123.456789: e: x");
  CHECK(bare.kind == Kind::kEvent);
  CHECK(bare.level == 0);
  CHECK(bare.time_ns == 123456789000);
  CHECK(parse_trace_line("a-1 [000] d... 1.000001: e: x").kind == Kind::kEvent);  // four flags of an older kernel
}

TEST_CASE("a thread's name may hold what separates columns", "[ftrace_line]") {
  const auto check = [](std::string_view text, std::string_view comm, uint32_t tid, uint32_t cpu) {
    const auto line = parse_trace_line(text);
    CAPTURE(text);
    CHECK(line.kind == Kind::kEvent);
    CHECK(line.comm == comm);
    CHECK(line.tid == tid);
    CHECK(line.cpu == cpu);
  };
  check("     kworker/0:1-7       [000] d..2.     1.000000: e: x", "kworker/0:1", 7, 0);
  check("     V8 worker -2-99      [003] d..2.     1.000000: e: x", "V8 worker -2", 99, 3);
  check("        a-1 [001] b-7       [000] d..2.     1.000000: e: x", "a-1 [001] b", 7, 0);
  check("          <idle>-0       [127] d..2.     1.000000: e: a-1 [001] d..2. 2.000000: f: y", "<idle>", 0, 127);
  check("            x (y)-5       [002] d..2.     1.000000: e: x", "x (y)", 5, 2);
  check("                -5       [002] d..2.     1.000000: e: x", "", 5, 2);
}

TEST_CASE("what interrupted what", "[ftrace_line]") {
  const auto level = [](const std::string& flags) {
    return int{parse_trace_line("a-1 [000] " + flags + " 1.000000: e: x").level};
  };
  CHECK(level(".....") == 0);
  CHECK(level("d.s2.") == 1);
  CHECK(level("d.h2.") == 2);
  CHECK(level("dNH3.") == 2);
  CHECK(level("d.Z3.") == 3);
  CHECK(level("d.z3.") == 3);
}

TEST_CASE("stacks and cookies", "[ftrace_line]") {
  const std::string head = "sh-1234 [006] d.h.. 123.456789: ";
  const auto cookie = parse_trace_line(head + "<stack_id 42 gen 1>");
  REQUIRE(cookie.kind == Kind::kCookie);
  CHECK(cookie.cookie == Cookie(1, 42));
  CHECK(parse_trace_line(head + "<stack trace>").kind == Kind::kStack);
  CHECK(parse_trace_line(head + "<user stack trace>").kind == Kind::kUserStack);
  CHECK(parse_trace_line(" => schedule+0x48/0xc0").text == "schedule+0x48/0xc0");
  CHECK(parse_trace_line(" => [FTRACE TRAMPOLINE]").text == "[FTRACE TRAMPOLINE]");
  CHECK(parse_trace_line(" => schedule+0x48/0xc0 <ffffffff81234567>").text == "schedule+0x48/0xc0");
  CHECK(parse_trace_line(" => operator <word>").text == "operator <word>");
  for (const std::string bad : {"<stack_id 42 gen 1", "<stack_id 42 gen 1> ", "<stack_id 42 gen 0>",
                                "<stack_id -1 gen 1>", "<stack_id 8388608 gen 1>", "<stack_id 1 gen 4294967296>",
                                "<stack_id  gen 1>", "<stack error EFAULT>", "<stack trace", ""}) {
    CAPTURE(bad);
    CHECK(parse_trace_line(head + bad).kind == Kind::kUnknown);
  }
  CHECK(parse_trace_line(head + "<stack_id 8388607 gen 4294967295>").cookie == Cookie(4294967295, 8388607));
  CHECK(parse_trace_line(" => ").kind == Kind::kUnknown);
}

TEST_CASE("comments and losses", "[ftrace_line]") {
  CHECK(parse_trace_line("").kind == Kind::kComment);
  CHECK(parse_trace_line("# tracer: nop").kind == Kind::kComment);
  CHECK(parse_trace_line("##### CPU 1 buffer started ####").kind == Kind::kComment);
  CHECK(parse_trace_line("# entries-in-buffer/entries-written: 5/5   #P:4").kind == Kind::kComment);
  const auto over = parse_trace_line("# entries-in-buffer/entries-written: 205/1205   #P:4");
  CHECK(over.kind == Kind::kOverwritten);
  CHECK(over.count == 1000);
  const auto lost = parse_trace_line("CPU:3 [LOST 123 EVENTS]");
  CHECK(lost.kind == Kind::kLost);
  CHECK(lost.cpu == 3);
  CHECK(lost.count == 123);
  CHECK(parse_trace_line("CPU:3 [LOST EVENTS]").kind == Kind::kLost);
  CHECK(parse_trace_line("CPU:3 [LOST many EVENTS]").kind == Kind::kUnknown);
}

TEST_CASE("other text is not understood", "[ftrace_line]") {
  for (const std::string_view text :
       {"hello", "bash-1234 1d..2 123us : e: x", "bash-1234 [001] d..2. 123456: e: x",
        "bash-x [001] d..2. 1.000000: e: x", "bash1234 [001] d..2. 1.000000: e: x",
        "bash-1 [65536] d..2. 1.000000: e: x", "bash-1 [001] d..2. 9000000001.000000: e: x",
        "bash-1 [001] d..2. 1.0000000001: e: x", "bash-1 [001] d..2. 1.: e: x",
        "bash-99999999999 [001] d..2. 1.000000: e: x", "bash-1 (x) [001] d..2. 1.000000: e: x",
        "bash-1 [001] toolongflags 1.000000: e: x", "bash-1 [001", "- [", "[1] "}) {
    CAPTURE(text);
    CHECK(parse_trace_line(text).kind == Kind::kUnknown);
  }
}

TEST_CASE("an event's name and text", "[ftrace_line]") {
  CHECK(split_event_text("kfree: ptr=0x1").name == "kfree");
  CHECK(split_event_text("kfree: ptr=0x1").text == "ptr=0x1");
  CHECK(split_event_text("kfree:").name == "kfree");
  CHECK(split_event_text("kfree: ").text.empty());
  CHECK(split_event_text("kfree:  two: x").text == " two: x");
  CHECK(split_event_text("vfs_read <-ksys_read").name.empty());
  CHECK(split_event_text("sys_openat(dfd: ffffff9c)").name.empty());
  CHECK(split_event_text(": x").name.empty());
  CHECK(split_event_text("kfree:x").name.empty());
  CHECK(split_event_text(std::string(65, 'a') + ": x").name.empty());
}

}  // namespace stackmap
