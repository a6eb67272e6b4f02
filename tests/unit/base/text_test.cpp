// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <cerrno>

#include "support/catch.h"

using namespace stackmap;

TEST_CASE("lists of numbers, as /sys/devices/system/cpu/online has them") {
  using List = std::vector<uint32_t>;
  const auto list = [](std::string_view text) { return parse_number_list(text); };
  CHECK(*list("0\n") == List{0});
  CHECK(*list("0-3,8,10-11\n") == List{0, 1, 2, 3, 8, 10, 11});
  CHECK(list("\n")->empty());
  CHECK(list("0-65535")->size() == 65536);
  for (const char* bad : {"-", "3-1", "1,,2", "a", "1-2-3", "0-65536", "4294967296", "1 2", ",1"}) {
    CAPTURE(bad);
    CHECK_FALSE(list(bad).ok());
  }
}

TEST_CASE("sizes") {
  CHECK(*parse_size("4096") == 4096);
  CHECK(*parse_size("512K") == 512 * 1024);
  CHECK(*parse_size("512KiB") == 512 * 1024);
  CHECK(*parse_size("2m") == 2 * 1024 * 1024);
  CHECK(*parse_size("3G") == uint64_t{3} << 30);
  CHECK(*parse_size("17B") == 17);
  for (const char* bad : {"", "K", "-1", "1.5M", "1T", "1Kx", "4 K", "99999999999999999999", "17179869184G"}) {
    INFO(bad);
    const auto size = parse_size(bad);
    REQUIRE_FALSE(size);
    CHECK(size.error().kind == ErrorKind::kUsage);
  }
}

TEST_CASE("durations") {
  CHECK(*parse_duration("10") == 10000000000U);
  CHECK(*parse_duration("1.5s") == 1500000000U);
  CHECK(*parse_duration("250ms") == 250000000U);
  CHECK(*parse_duration("5m") == 300000000000U);
  CHECK(*parse_duration("2h") == 7200000000000U);
  for (const char* bad : {"", "s", "-1", "1x", "nan", "inf", "1e99", "1 s", "99999999999h"}) {
    INFO(bad);
    CHECK_FALSE(parse_duration(bad));
  }
}

TEST_CASE("numbers for people") {
  CHECK(human_count(0) == "0");
  CHECK(human_count(999) == "999");
  CHECK(human_count(1000) == "1,000");
  CHECK(human_count(1234567) == "1,234,567");
  CHECK(human_size(1023) == "1023 B");
  CHECK(human_size(1024) == "1.0 KiB");
  CHECK(human_size(12595) == "12.3 KiB");
  CHECK(human_size((uint64_t{1} << 20) - 1) == "1.0 MiB");
  CHECK(human_size(~uint64_t{0}) == "16.0 EiB");
}

TEST_CASE("printable text has no control bytes and no bad UTF-8, and can be told from what it stands for") {
  CHECK(printable("plain") == "plain");
  CHECK(printable("a\x01\x1b[0m\n") == "a\\x01\\x1b[0m\\x0a");
  CHECK(printable("\xff\xc0\x80") == "\\xff\\xc0\\x80");
  CHECK(printable("日本") == "日本");
  CHECK(printable("\\x41") == "\\\\x41");
  CHECK(printable("\xe6\x97") == "\\xe6\\x97");
  CHECK_FALSE(is_utf8("\xed\xa0\x80"));  // a surrogate
  CHECK_FALSE(is_utf8("\xf4\x90\x80\x80"));
  CHECK(is_utf8("\xf4\x8f\xbf\xbf"));
}

TEST_CASE("error numbers by name") {
  CHECK(errno_name(EFAULT) == "EFAULT");
  CHECK(errno_name(4711) == "4711");
  CHECK(errno_name(0) == "0");
}

TEST_CASE("splitting keeps empty parts") {
  CHECK(split("a,,b", ',') == std::vector<std::string_view>{"a", "", "b"});
  CHECK(split("", ',') == std::vector<std::string_view>{""});
}
