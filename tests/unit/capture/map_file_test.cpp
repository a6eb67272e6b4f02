// SPDX-License-Identifier: Apache-2.0
#include "capture/map_file.h"

#include "support/catch.h"
#include "support/memory_file.h"

namespace stackmap {

namespace {

std::string written_map(const std::vector<CapturedStack>& stacks) {
  return stackmap_test::written([&](TextWriter& out) {
    write_map_file(
        stacks,
        [](uint64_t address) {
          return address == 0x10   ? std::string("schedule+0x48/0xc0")
                 : address == 0x20 ? std::string("ext4_read+0x8/0x20 [ext4]")
                 : address == 0x30 ? std::string("evil\nstack_id 1 gen 1 ref 1 depth 0")
                                   : std::string("0x99");
        },
        out);
  });
}

std::string error_of(std::string_view text) {
  const auto result = parse_map_file(text, "m");
  return result ? "no error" : result.error().message();
}

}  // namespace

TEST_CASE("the text is the kernel's, by generation and slot", "[map_file]") {
  const std::vector<uint64_t> two = {0x10, 0x20};
  const std::vector<uint64_t> one = {0x99};
  CHECK(written_map({{Cookie(2, 0), one, 1}, {Cookie(1, 42), two, 1337}, {Cookie(1, 0), one, uint64_t{1} << 40}}) ==
        "stack_id 0 gen 1 ref 2147483647 depth 1\n"
        " => 0x99\n"
        "stack_id 42 gen 1 ref 1337 depth 2\n"
        " => schedule+0x48/0xc0\n"
        " => ext4_read+0x8/0x20 [ext4]\n"
        "stack_id 0 gen 2 ref 1 depth 1\n"
        " => 0x99\n");
  CHECK(written_map({}).empty());
}

TEST_CASE("what is written is read back", "[map_file]") {
  const std::vector<uint64_t> frames = {0x10, 0x30, 0x20};
  const auto read = parse_map_file(written_map({{Cookie(7, 4294967295), frames, 5}, {Cookie(8, 0), {}, 0}}), "m");
  REQUIRE(read.ok());
  REQUIRE(read->size() == 2);
  CHECK((*read)[0] ==
        MapFileRecord{Cookie(7, 4294967295),
                      5,
                      {"schedule+0x48/0xc0", "evil\\x0astack_id 1 gen 1 ref 1 depth 0", "ext4_read+0x8/0x20 [ext4]"}});
  CHECK((*read)[1] == MapFileRecord{Cookie(8, 0), 0, {}});
}

TEST_CASE("the kernel's own text is read", "[map_file]") {
  const auto read = parse_map_file(
      "stack_id 42 gen 1 ref 1337 depth 3\n => schedule+0x48/0xc0\n => [FTRACE TRAMPOLINE]\n => 0xffffffffa0000000\n",
      "m");
  REQUIRE(read.ok());
  CHECK((*read)[0].frames[1] == "[FTRACE TRAMPOLINE]");
  CHECK(parse_map_file("", "m")->empty());
}

TEST_CASE("anything else is refused with its line", "[map_file]") {
  const std::string good = "stack_id 1 gen 1 ref 1 depth 1\n => a+0x1/0x2\n";
  CHECK(error_of(good) == "no error");
  CHECK(error_of(good + good) == "m:3: stack_id 1 gen 1 is here twice");
  CHECK(error_of(good + "\n") == "m:3: expected 'stack_id N gen G ref R depth D'");
  CHECK(error_of(good + " => extra\n") == "m:3: expected 'stack_id N gen G ref R depth D'");
  CHECK(error_of("stack_id 1 gen 1 ref 1 depth 2\n => a\n") == "m:3: the text ends after 1 of 2 frames");
  CHECK(error_of("stack_id 1 gen 1 ref 1 depth 2\n => a\nstack_id 2 gen 1 ref 1 depth 0\n") ==
        "m:3: expected ' => SYMBOL', frame 2 of 2");
  CHECK(error_of("stack_id 1 gen 1 ref 1 depth 1\n => a") == "m:2: the last line has no end");
  CHECK(error_of("stack_id 1 gen 1 ref 1 depth 1") == "m:1: the last line has no end");
  CHECK(error_of("stack_id 1 gen 1 ref 1 depth 1\n => \n") == "m:2: expected ' => SYMBOL', frame 1 of 1");
  CHECK(error_of("stack_id 1 gen 1 ref 1 depth 1\n=> a\n") == "m:2: expected ' => SYMBOL', frame 1 of 1");
  CHECK(error_of("stack_id 1 gen 1 ref 2147483648 depth 0\n") == "m:1: ref is above 2147483647");
  for (const std::string header :
       {"stack_id 4294967296 gen 1 ref 1 depth 0", "stack_id -1 gen 1 ref 1 depth 0", "stack_id 01 gen 1 ref 1 depth 0",
        "stack_id 1 gen 1 ref 1 depth 0 ", "stack_id 1 gen 1 ref 1 depth 0\r", "stack_id 1 gen 1 ref 1 depth",
        "stack_id  1 gen 1 ref 1 depth 0", " stack_id 1 gen 1 ref 1 depth 0", "stack_id +1 gen 1 ref 1 depth 0",
        "stack_id 1 ref 1 gen 1 depth 0", "generation: 1", "#"}) {
    CAPTURE(header);
    CHECK(error_of(header + "\n") == "m:1: expected 'stack_id N gen G ref R depth D'");
  }
  CHECK(parse_map_file("x\n", "m").error().kind == ErrorKind::kCorrupt);
}

TEST_CASE("a depth that the text does not hold costs nothing", "[map_file]") {
  CHECK(error_of("stack_id 1 gen 1 ref 1 depth 4294967295\n => a\n") ==
        "m:3: the text ends after 1 of 4294967295 frames");
}

TEST_CASE("every prefix, and every changed byte, is read or refused", "[map_file]") {
  const std::string good =
      "stack_id 1 gen 1 ref 1 depth 2\n => a+0x1/0x2\n => 0x99\nstack_id 2 gen 1 ref 1 depth 1\n => b+0x1/0x2 [m]\n";
  size_t whole = 0;
  for (size_t n = 0; n <= good.size(); ++n) {
    const auto result = parse_map_file(good.substr(0, n), "m");
    whole += result.ok() ? 1U : 0U;
  }
  CHECK(whole == 3);  // nothing, one record, both
  for (size_t at = 0; at < good.size(); ++at) {
    for (const char c : {'\0', '\n', ' ', '9', '\xff'}) {
      std::string bad = good;
      bad[at] = c;
      const auto result = parse_map_file(bad, "m");
      CHECK((!result || result->size() <= 3));
    }
  }
}

}  // namespace stackmap
