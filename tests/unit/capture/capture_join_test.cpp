// SPDX-License-Identifier: Apache-2.0
// Several files as one capture: src/capture/capture_join.cpp and capture_part.cpp.
#include <algorithm>

#include "capture/map_binary_writer.h"
#include "support/capture_fixture.h"

using namespace stackmap_test;

namespace {

constexpr uint64_t kCore = 0xffffffff81000010;    // of the kernel itself: the same name always
constexpr uint64_t kModule = 0xffffffffc0000020;  // where a module is loaded
constexpr std::array<uint64_t, 2> kFrames = {kModule, kCore};

// One segment: its own generation, string ids, symbols and ledger. Two events with a cookie and one fallback, at times
// 1000 * segment + 1, 2, 3.
std::string segment_bytes(uint64_t segment, const std::string& module, uint64_t session = 77) {
  TestFile file(segment_info(segment, session));
  CaptureWriter& writer = file.writer();
  const auto generation = static_cast<uint32_t>(segment);
  writer.add_task({1000 * segment, TaskChange::kSeen, 5, 5, 1, "task" + std::to_string(segment)});
  writer.add_stack(Cookie(generation, 9), kFrames);
  writer.add_symbol(kCore, {"core", 1, 2, ""});
  writer.add_symbol(kModule, {"entry", 3, 4, module});
  // The same text has another id in every segment, and the same id another text.
  for (uint64_t i = 0; i < segment; ++i) {
    (void)writer.string_id("only in " + std::to_string(segment) + "." + std::to_string(i));
  }
  file.event(1000 * segment + 1, 5, cookie_ref(generation, 9), "shared");
  file.event(1000 * segment + 2, 5, cookie_ref(generation, 9), "own" + std::to_string(segment));
  file.event(1000 * segment + 3, 5, fallback_ref(kFrames), "shared");
  Ledger ledger;
  ledger.set("event.kmem:kmem_cache_free.recorded", 3);
  ledger.set("map.generation", segment);
  ledger.set("map.entries", 1);
  file.close(ledger);
  return file.bytes();
}

std::vector<std::string> told_of(uint64_t segment, const std::string& module) {
  const std::string n = std::to_string(segment);
  const std::string stack = " entry+0x3/0x4 [" + module + "] core+0x1/0x2";
  return {n + "001 task" + n + " shared:" + stack, n + "002 task" + n + " own" + n + ":" + stack,
          n + "003 task" + n + " shared:" + stack};
}

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("segments are one capture, whatever their order", "[join]") {
  Files files = {{"d/w-000001.smc", segment_bytes(1, "mod")},
                 {"d/w-000002.smc", segment_bytes(2, "mod")},
                 {"d/w-000003.smc", segment_bytes(3, "mod")}};
  const auto expected = told_of(1, "mod") + told_of(2, "mod") + told_of(3, "mod");
  std::ranges::sort(files);
  do {
    auto capture = open_files(files);
    REQUIRE(capture);
    CHECK(told(*capture) == expected);
    CHECK(capture->name() == "d/w");
    CHECK(capture->file_count() == 3);
    CHECK(capture->event_count() == 9);
    CHECK(capture->events_expected() == 9);
    CHECK(capture->event_types() == known_event_types());
    CHECK(capture->missing_segments().empty());
    CHECK_FALSE(capture->damage().any());
    CHECK(capture->damage().closed);
    CHECK(capture->info().session == 77);
    CHECK(capture->info().segment == 0);
    REQUIRE(capture->info().anchors.size() == 3);
    CHECK(capture->info().anchors[2].monotonic_ns == 3);
  } while (std::ranges::next_permutation(files).found);
}

TEST_CASE("ledgers of segments are added up, the map's state is the last one's", "[join]") {
  auto capture = open_files({{"b", segment_bytes(2, "mod")}, {"a", segment_bytes(1, "mod")}});
  REQUIRE(capture);
  CHECK(capture->ledger().get("event.kmem:kmem_cache_free.recorded") == 6);
  CHECK(capture->ledger().get("map.generation") == 2);
  CHECK(capture->ledger().get("map.entries") == 1);
  const auto files = capture->files();
  REQUIRE(files.size() == 2);
  CHECK(files[0].name == "a");
  CHECK(files[0].ledger.get("map.generation") == 1);
  CHECK(files[1].first_ns == 2001);
  CHECK(files[1].last_ns == 2003);
}

TEST_CASE("an address has the name that its segment gives it", "[join]") {
  auto capture =
      open_files({{"1", segment_bytes(1, "old")}, {"2", segment_bytes(2, "new")}, {"3", segment_bytes(3, "old")}});
  REQUIRE(capture);
  CHECK(told(*capture) == told_of(1, "old") + told_of(2, "new") + told_of(3, "old"));
  const auto stack = capture->stack(Cookie(2, 9));
  REQUIRE(stack.size() == 2);
  CHECK(capture->symbol(stack[0])->module == "new");
  CHECK(capture->address(stack[0]) == kModule);
  CHECK(stack[1] == kCore);
  // The form for other programs has the addresses.
  auto generation = map_generation(*capture, 2);
  REQUIRE(generation);
  CHECK(generation->address(generation->stacks.front().frames[0]) == kModule);
}

TEST_CASE("a segment without a name of its own does not take one that is disputed", "[join]") {
  const std::string lost = with_damaged(segment_bytes(3, "x"), BlockKind::kSymbols);
  auto disputed = open_files({{"1", segment_bytes(1, "old")}, {"2", segment_bytes(2, "new")}, {"3", lost}});
  REQUIRE(disputed);
  const std::string bare = " 0xffffffffc0000020 core+0x1/0x2";
  CHECK(told(*disputed)[6] == "3001 task3 shared:" + bare);
  CHECK(told(*disputed)[8] == "3003 task3 shared:" + bare);
  auto agreed = open_files({{"1", segment_bytes(1, "old")}, {"3", lost}});
  REQUIRE(agreed);
  CHECK(told(*agreed)[3] == "3001 task3 shared: entry+0x3/0x4 [old] core+0x1/0x2");
}

TEST_CASE("what a segment saw of a task does not hold before it", "[join]") {
  const auto made = [](uint64_t segment, uint64_t time_ns, const std::string& comm) {
    TestFile file(segment_info(segment));
    file.writer().add_task({0, TaskChange::kSeen, 5, 5, 1, comm});
    file.event(time_ns, 5, {}, "s");
    file.close();
    return file.bytes();
  };
  auto capture = open_files({{"1", made(1, 100, "before")}, {"2", made(2, 200, "after")}});
  REQUIRE(capture);
  CHECK(told(*capture) == std::vector<std::string>{"100 before s:", "200 after s:"});
}

TEST_CASE("segments that are not there are said, and are no damage", "[join]") {
  const auto missing = [](const std::vector<uint64_t>& segments) {
    Files files;
    for (const uint64_t segment : segments) {
      files.emplace_back(std::to_string(segment), segment_bytes(segment, "mod"));
    }
    auto capture = open_files(files);
    REQUIRE(capture);
    CHECK_FALSE(capture->damage().any());
    return capture->missing_segments();
  };
  CHECK(missing({1, 2}).empty());
  CHECK(missing({4}).empty());
  CHECK(missing({1, 3}) == "segment 2 is not there");
  CHECK(missing({2, 6}) == "segments 1, 3 to 5 are not there");
}

TEST_CASE("damage of segments is added up, with the file of the first", "[join]") {
  const std::string torn = segment_bytes(3, "mod").substr(0, segment_bytes(3, "mod").size() - 10);
  auto capture = open_files({{"one", segment_bytes(1, "mod")},
                             {"two", with_damaged(segment_bytes(2, "mod"), BlockKind::kEvents)},
                             {"three", torn}});
  REQUIRE(capture);
  const auto lines = told(*capture);
  CHECK(lines == told_of(1, "mod") + told_of(3, "mod"));
  const Damage& damage = capture->damage();
  CHECK(damage.bad_blocks == 1);
  CHECK(damage.events_lost == 3);
  CHECK(damage.torn_bytes > 0);
  CHECK_FALSE(damage.closed);
  CHECK(damage.first.starts_with("two: block "));
  CHECK(damage.first.find("(events) at byte ") != std::string::npos);
  CHECK(capture->files()[0].damage.closed);
}

TEST_CASE("files that are not of one recording are refused, and it is said why", "[join]") {
  const auto refused = [](const Files& files, const std::string& why) {
    auto capture = open_files(files);
    REQUIRE_FALSE(capture);
    const std::string message = capture.error().message();
    INFO(message);
    CHECK(capture.error().kind == ErrorKind::kUsage);
    CHECK(message.find(why) != std::string::npos);
    CHECK(message.find("one recording at a time") != std::string::npos);
  };
  refused({{"one", segment_bytes(1, "m")}, {"two", segment_bytes(2, "m", 78)}}, "two is of another one than one");
  refused({{"one", segment_bytes(2, "m")}, {"two", segment_bytes(2, "m")}}, "one and two are both its segment 2");
  refused({{"one", segment_bytes(1, "m")}, {"two", segment_bytes(2, "m", 0)}}, "two is a recording of its own");
  refused({{"one", segment_bytes(1, "m")}, {"two", with_damaged(segment_bytes(2, "m"), BlockKind::kHeader)}},
          "two has lost its header");
  CHECK(open_files({}).error().kind == ErrorKind::kUsage);
}

TEST_CASE("a cookie that is two stacks is in no joined capture", "[join]") {
  const auto made = [](uint64_t segment, uint64_t frame) {
    TestFile file(segment_info(segment));
    file.writer().add_stack(Cookie(1, 1), std::span(&frame, 1));
    file.event(segment, 5, cookie_ref(1, 1), "s");
    file.close();
    return file.bytes();
  };
  auto capture = open_files({{"one", made(1, 0x1000)}, {"two", made(2, 0x2000)}});
  REQUIRE_FALSE(capture);
  CHECK(capture.error().kind == ErrorKind::kCorrupt);
  CHECK(capture.error().message().find("two is no segment") != std::string::npos);
  CHECK(open_files({{"one", made(1, 0x1000)}, {"two", made(2, 0x1000)}}));
}

TEST_CASE("a string that is lost is none of another segment's", "[join]") {
  auto capture =
      open_files({{"1", segment_bytes(1, "mod")}, {"2", with_damaged(segment_bytes(2, "mod"), BlockKind::kStrings)}});
  REQUIRE(capture);
  const auto lines = told(*capture);
  REQUIRE(lines.size() == 6);
  CHECK(lines[0].find(" shared:") != std::string::npos);
  for (size_t i = 3; i < 6; ++i) {
    CHECK(lines[i].find(" ?:") != std::string::npos);
  }
}

TEST_CASE("events of fixed types keep their fields where the types are lost", "[join]") {
  auto capture = open_files({{"1", with_damaged(segment_bytes(1, "mod"), BlockKind::kEventTypes)}});
  REQUIRE(capture);
  CHECK(told(*capture) == told_of(1, "mod"));
  CHECK(capture->damage().bad_blocks == 1);
}
