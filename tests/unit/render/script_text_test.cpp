// SPDX-License-Identifier: Apache-2.0
#include "render/script_text.h"

#include <cerrno>

#include "support/catch.h"
#include "support/faulty_file.h"
#include "support/report_fixture.h"

namespace stackmap {

namespace {

std::string script(const test::FakeEvents& source, const ScriptOptions& options = {}, ScriptTotals* totals = nullptr) {
  return test::written([&](TextWriter& out) {
    const auto result = write_script(source, options, out);
    REQUIRE(result.ok());
    if (totals != nullptr) {
      *totals = *result;
    }
  });
}

}  // namespace

TEST_CASE("an event is printed as the kernel's trace file prints it", "[script_text]") {
  test::FakeEvents source;
  source.task(1234, "bash");
  source.strings[9] = "dentry";
  source
      .add(kKmemCacheAlloc, {0xffff888100, 9, 190, 192, 0xcc0, ~uint64_t{0}}, source.cookie(1, 42), 1234, 123456789400)
      .cpu = 1;
  source.add(kKfree, {0xabc}, {}, 7, 5000000600).cpu = 127;
  // printf("%16s-%-7d [%03d] ..... %5lu.%06lu: ", ...), with the kernel's rounding to microseconds.
  CHECK(
      script(source) ==
      "            bash-1234    [001] .....   123.456789: kmem_cache_alloc: ptr=0xffff888100 name=dentry bytes_req=190 "
      "bytes_alloc=192 gfp_flags=0xcc0 node=-1\n"
      "            bash-1234    [001] .....   123.456789: <stack_id 42 gen 1>\n"
      "           <...>-7       [127] .....     5.000001: kfree: ptr=0xabc\n");
}

TEST_CASE("fallbacks and errors are printed in full, whatever is asked for", "[script_text]") {
  test::FakeEvents source;
  source.task(5, "sh");
  source.symbols[0x10] = {"schedule", 0x48, 0xc0, ""};
  source.symbols[0x20] = {"ext4_read", 0x8, 0x20, "ext4"};
  source.add(kKfree, {1}, source.fallback({0x10, 0x20, 0x30}), 5, 1000);
  source.add(kKfree, {2}, source.error(EFAULT), 5, 1000);
  const std::string expected =
      "              sh-5       [000] .....     0.000001: kfree: ptr=0x1\n"
      "              sh-5       [000] .....     0.000001: <stack trace>\n"
      " => schedule+0x48/0xc0\n"
      " => ext4_read+0x8/0x20 [ext4]\n"
      " => 0x30\n"
      "              sh-5       [000] .....     0.000001: kfree: ptr=0x2\n"
      "              sh-5       [000] .....     0.000001: <stack error EFAULT>\n";
  CHECK(script(source) == expected);
  CHECK(script(source, {.resolve = true}) == expected);
}

TEST_CASE("resolve prints the stack of that generation, or says that it is not there", "[script_text]") {
  test::FakeEvents source;
  source.task(5, "sh");
  source.symbols[0x10] = {"schedule", 0x48, 0xc0, ""};
  source.stacks[Cookie(2, 0)] = {0x10};
  source.add(kKfree, {1}, source.cookie(2, 0), 5, 1000);
  source.add(kKfree, {1}, source.cookie(1, 0), 5, 1000);
  ScriptTotals totals;
  CHECK(script(source, {.resolve = true}, &totals) ==
        "              sh-5       [000] .....     0.000001: kfree: ptr=0x1\n"
        "              sh-5       [000] .....     0.000001: <stack trace>\n"
        " => schedule+0x48/0xc0\n"
        "              sh-5       [000] .....     0.000001: kfree: ptr=0x1\n"
        "              sh-5       [000] .....     0.000001: <stack_id 0 gen 1> not in the capture\n");
  CHECK(totals.missing_stacks == 1);
  CHECK(totals.printed == 2);
  const std::string cookies = script(source, {}, &totals);
  CHECK(cookies.find("<stack_id 0 gen 2>\n") != std::string::npos);
  CHECK(cookies.find("<stack_id 0 gen 1>\n") != std::string::npos);
  CHECK(cookies.find("<stack trace>") == std::string::npos);
  CHECK(totals.missing_stacks == 0);
}

TEST_CASE("an imported event's text stands alone, and its stale cookie says what it needs", "[script_text]") {
  test::FakeEvents source;
  source.task(5, "sh");
  source.strings[1] = "any text = at all";
  source.add_type({64, "ftrace", "one", {{"", FieldFormat::kString}}});
  source.add(64, {1}, source.cookie(2, 7), 5, 1000);
  source.add(64, {1}, source.cookie(3, 7), 5, 1000);
  ScriptOptions options;
  options.resolve = true;
  options.imported_generations = {3};
  CHECK(script(source, options) ==
        "              sh-5       [000] .....     0.000001: one: any text = at all\n"
        "              sh-5       [000] .....     0.000001: <stack_id 7 gen 2> stale: needs the stack_map of "
        "generation 2\n"
        "              sh-5       [000] .....     0.000001: one: any text = at all\n"
        "              sh-5       [000] .....     0.000001: <stack_id 7 gen 3> not in the stack_map of generation 3, "
        "which "
        "was saved before this stack was stored\n");
}

TEST_CASE("fields by their formats", "[script_text]") {
  test::FakeEvents source;
  source.strings[1] = "a\nb";
  CHECK(field_text(source, FieldFormat::kUnsigned, ~uint64_t{0}) == "18446744073709551615");
  CHECK(field_text(source, FieldFormat::kSigned, ~uint64_t{0}) == "-1");
  CHECK(field_text(source, FieldFormat::kHex, 255) == "0xff");
  CHECK(field_text(source, FieldFormat::kTid, 1234) == "1234");
  CHECK(field_text(source, FieldFormat::kString, 1) == "a\\x0ab");
  CHECK(field_text(source, FieldFormat::kString, 2) == "?");
  CHECK(field_text(source, FieldFormat::kTaskState, 2) == "D");
  CHECK(field_text(source, static_cast<FieldFormat>(200), 3) == "3");
}

TEST_CASE("task states as sched_switch prints them", "[script_text]") {
  CHECK(task_state_text(0) == "R");
  CHECK(task_state_text(0x100) == "R+");
  CHECK(task_state_text(1) == "S");
  CHECK(task_state_text(2) == "D");
  CHECK(task_state_text(4) == "T");
  CHECK(task_state_text(8) == "t");
  CHECK(task_state_text(0x10) == "X");
  CHECK(task_state_text(0x20) == "Z");
  CHECK(task_state_text(0x40) == "P");
  CHECK(task_state_text(0x80) == "I");
  CHECK(task_state_text(0x182) == "D|I+");
  CHECK(task_state_text(0x400) == "R");  // a bit that the kernel does not report
}

TEST_CASE("odd names, unknown events and spare fields stay on their line", "[script_text]") {
  test::FakeEvents source;
  source.task(5, "x\x1b\n");
  source.add(999, {7, 8}, {}, 5, ~uint64_t{0});
  source.add_type({64, "sys", "one\tfield", {{"f"}}});
  source.add(64, {1, 2}, {}, 5, 0);
  source.add(64, {}, {}, 5, 0);
  // 2^64 - 1 ns, rounded, is 18446744073.709552 s.
  CHECK(script(source) ==
        "       x\\x1b\\x0a-5       [000] ..... 18446744073.709552: unknown_event_999: field0=7 field1=8\n"
        "       x\\x1b\\x0a-5       [000] .....     0.000000: one\\x09field: f=1 field1=2\n"
        "       x\\x1b\\x0a-5       [000] .....     0.000000: one\\x09field:\n");
}

TEST_CASE("the filter, a failing source and a failing file", "[script_text]") {
  test::FakeEvents source;
  source.task(5, "sh");
  source.task(6, "make");
  for (int i = 0; i < 20000; ++i) {
    source.add(kKfree, {1}, {}, i % 2 == 0 ? 5 : 6);
  }
  ScriptTotals totals;
  ScriptOptions only_make;
  only_make.filter.comms = {"make"};
  CHECK(script(source, only_make, &totals).find("sh-5") == std::string::npos);
  CHECK(totals.printed == 10000);
  CHECK(totals.events == 20000);

  stackmap_test::FaultyFile full = stackmap_test::full_file();
  TextWriter out(full);
  const auto stopped = write_script(source, {}, out);
  REQUIRE(stopped.ok());
  CHECK(stopped->events < 20000);  // it stops once the file has failed
  CHECK_FALSE(out.flush().ok());

  source.broken = true;
  stackmap_test::MemoryFile file;
  TextWriter good(file);
  CHECK_FALSE(write_script(source, {}, good).ok());
}

}  // namespace stackmap
