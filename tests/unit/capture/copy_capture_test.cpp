// SPDX-License-Identifier: Apache-2.0
#include "capture/copy_capture.h"

#include <map>
#include <set>

#include "support/capture_fixture.h"
#include "support/capture_info.h"

using namespace stackmap_test;

namespace {

constexpr std::array<uint64_t, 2> kDeep = {0xffffffff81000100, 0xffffffff81000010};
constexpr std::array<uint64_t, 2> kOther = {0xffffffff81000200, 0xffffffff81000010};

// Two generations, a task, a stack and a string for each event, and one of each that no event has. Event N is at time
// N * 100, of thread N, with the string sN; 1 to 4 have a cookie, 5 is a fallback.
std::string example(const Ledger& ledger = {}, uint64_t segment = 0) {
  TestFile file(segment_info(segment, segment == 0 ? 0 : 77));
  CaptureWriter& writer = file.writer();
  writer.add_symbol(0xffffffff81000010, {"root", 1, 2, ""});
  writer.add_symbol(0xffffffff81000100, {"deep", 1, 2, ""});
  writer.add_symbol(0xffffffff81000200, {"other", 1, 2, "mod"});
  writer.add_symbol(0xffffffff81000300, {"unused", 1, 2, ""});
  writer.add_task({50, TaskChange::kSeen, 99, 99, 1, "unused"});
  (void)writer.string_id("unused");
  for (uint32_t n = 1; n <= 4; ++n) {
    const uint32_t generation = n <= 2 ? 1 : 2;
    writer.add_stack(Cookie(generation, n), n % 2 == 1 ? kDeep : kOther);
    writer.add_task({n * 100, TaskChange::kSeen, n, n, 1, "task" + std::to_string(n)});
    file.event(n * 100, n, cookie_ref(generation, n), "s" + std::to_string(n));
  }
  writer.add_stack(Cookie(2, 77), kDeep);
  writer.add_task({500, TaskChange::kSeen, 5, 5, 1, "task5"});
  file.event(500, 5, fallback_ref(kOther), "s5");
  file.close(ledger);
  return file.bytes();
}

struct Copied {
  std::string bytes;
  CopyTotals totals;
  Capture capture;
};

Copied copied(const Capture& from, const CopyOptions& options = {}) {
  auto disk = std::make_shared<Disk>();
  auto writer = CaptureWriter::create(std::make_unique<FaultyFile>(disk), copy_info(from, options), from.event_types(),
                                      copy_writer_options());
  REQUIRE(writer);
  auto totals = copy_capture(from, **writer, options);
  REQUIRE(totals);
  auto read = Capture::open(memory_file(disk->bytes, "copy"));
  REQUIRE(read);
  // Whatever the source is, a copy is whole, and its refs are its events.
  CHECK(told(*read).size() == totals->events);
  CHECK_FALSE(read->damage().any());
  CHECK(read->damage().closed);
  const auto refs = read->stacks();
  std::map<Cookie, uint64_t> counted;
  REQUIRE(read->for_each_event([&](const Event& event) {
    counted[event.stack.cookie] += event.stack.state == StackRef::State::kCookie ? 1 : 0;
    return true;
  }));
  for (const CapturedStack& stack : refs) {
    CHECK(stack.ref == counted[stack.cookie]);
  }
  return {disk->bytes, *totals, std::move(read).value()};
}

Copied copied(const std::string& bytes, const CopyOptions& options = {}) {
  auto from = Capture::open(memory_file(bytes, "source"));
  REQUIRE(from);
  return copied(*from, options);
}

std::vector<std::pair<std::string, uint64_t>> recovery(const Ledger& ledger) {
  std::vector<std::pair<std::string, uint64_t>> found;
  for (const auto& entry : ledger.entries()) {
    if (entry.first.starts_with("recover.") || entry.first.starts_with("copy.")) {
      found.push_back(entry);
    }
  }
  return found;
}

std::set<std::string> strings_of(const Capture& capture) {
  std::set<std::string> texts;
  for (const auto& [id, text] : capture.strings()) {
    texts.emplace(text);
  }
  return texts;
}

using Lost = std::vector<std::pair<std::string, uint64_t>>;

}  // namespace

TEST_CASE("a copy has all that the capture has", "[copy]") {
  Ledger ledger;
  ledger.set("event.kmem:kmem_cache_free.recorded", 5);
  const std::string bytes = example(ledger, 4);
  auto from = Capture::open(memory_file(bytes, "source"));
  const Copied copy = copied(bytes);
  CHECK(told(copy.capture) == told(*from));
  CHECK(copy.totals.events == 5);
  CHECK(copy.totals.stacks == 5);
  CHECK(told(copy.capture.info()) == told(from->info()));
  CHECK(copy.capture.info().segment == 4);
  REQUIRE(copy.capture.info().anchors.size() == 1);
  CHECK(copy.capture.info().anchors[0].monotonic_ns == 4);
  CHECK(copy.capture.event_types() == from->event_types());
  CHECK(copy.capture.tasks().records() == from->tasks().records());
  CHECK(copy.capture.ledger().entries() == from->ledger().entries());
  CHECK(strings_of(copy.capture) == std::set<std::string>{"unused", "s1", "s2", "s3", "s4", "s5"});
  CHECK(copy.capture.symbol_text(0xffffffff81000300) == "unused+0x1/0x2");
  CHECK(copy.capture.stack(Cookie(2, 77)).size() == 2);
  CHECK(recovery(copy.capture.ledger()).empty());
}

TEST_CASE("any prefix of a copy that ends with a block resolves", "[copy]") {
  const Copied copy = copied(example());
  const auto blocks = copy.capture.blocks();
  const auto all = told(copy.capture);
  for (const BlockInfo& last : blocks) {
    auto cut = Capture::open(memory_file(copy.bytes.substr(0, last.offset + last.stored_bytes), "cut"));
    REQUIRE(cut);
    const auto some = told(*cut);
    REQUIRE(some.size() <= all.size());
    CHECK(std::equal(some.begin(), some.end(), all.begin()));
  }
}

TEST_CASE("a copy of a time has its events and what they need, nothing else", "[copy]") {
  CopyOptions options;
  options.from_ns = 200;
  options.to_ns = 300;
  const Copied copy = copied(example({}, 4), options);
  CHECK(told(copy.capture) == std::vector<std::string>{"200 task2 s2: other+0x1/0x2 [mod] root+0x1/0x2",
                                                       "300 task3 s3: deep+0x1/0x2 root+0x1/0x2"});
  CHECK(copy.totals.left_out == 3);
  CHECK(copy.totals.events_lost == 0);
  const auto stacks = copy.capture.stacks();
  REQUIRE(stacks.size() == 2);
  CHECK(stacks[0].cookie == Cookie(1, 2));
  CHECK(stacks[1].cookie == Cookie(2, 3));
  std::set<uint32_t> threads;
  for (const TaskRecord& task : copy.capture.tasks().records()) {
    threads.insert(task.tid);
  }
  CHECK(threads == std::set<uint32_t>{2, 3});
  CHECK(strings_of(copy.capture) == std::set<std::string>{"s2", "s3"});
  CHECK(copy.capture.symbols().size() == 3);
  CHECK(recovery(copy.capture.ledger()) == Lost{{"copy.left_out", 3}});
  CHECK(copy.capture.info().session == 0);
  CHECK(copy.capture.info().segment == 0);
}

TEST_CASE("a damaged block of any kind costs what is in it", "[copy]") {
  const std::string bytes = example();
  const auto whole = told(*Capture::open(memory_file(bytes, "whole")));
  const auto recovered = [&](BlockKind kind) {
    Copied copy = copied(with_damaged(bytes, kind));
    CHECK(copy.capture.ledger().get("recover.bad_blocks") >= 1);
    return copy;
  };
  CHECK(told(recovered(BlockKind::kHeader).capture) == whole);
  CHECK(told(recovered(BlockKind::kEventTypes).capture) == whole);
  CHECK(told(recovered(BlockKind::kLedger).capture) == whole);
  CHECK(told(recovered(BlockKind::kAnchors).capture) == whole);
  CHECK(told(recovered(BlockKind::kRefs).capture) == whole);
  CHECK(recovered(BlockKind::kEnd).capture.ledger().get("recover.unfinished_files") == 1);

  const Copied stacks = recovered(BlockKind::kStacks);
  CHECK(stacks.capture.stacks().empty());
  CHECK(told(stacks.capture)[0] == "100 task1 s1:");
  CHECK(told(stacks.capture)[4] == whole[4]);
  CHECK(stacks.capture.ledger().get("recover.stacks_missing") == 4);
  REQUIRE(stacks.capture.for_each_event([](const Event& event) {
    CHECK(event.stack.state == (event.time_ns < 500 ? StackRef::State::kNone : StackRef::State::kFallback));
    return true;
  }));

  const Copied strings = recovered(BlockKind::kStrings);
  CHECK(told(strings.capture)[0] == "100 task1 ?: deep+0x1/0x2 root+0x1/0x2");
  CHECK(strings.capture.ledger().get("recover.strings_missing") == 5);

  CHECK(told(recovered(BlockKind::kTasks).capture)[0] == "100 <...> s1: deep+0x1/0x2 root+0x1/0x2");
  CHECK(told(recovered(BlockKind::kSymbols).capture)[0] == "100 task1 s1: 0xffffffff81000100 0xffffffff81000010");

  const Copied events = recovered(BlockKind::kEvents);
  CHECK(events.totals.events == 0);
  CHECK(events.totals.events_lost == 5);
  CHECK(events.capture.ledger().get("recover.events_lost") == 5);
  CHECK(events.capture.stacks().size() == 5);
}

TEST_CASE("events of blocks that are gone are counted by the end block", "[copy]") {
  const Copied copy = copied(without(example(), BlockKind::kEvents));
  CHECK(copy.totals.events == 0);
  CHECK(copy.capture.ledger().get("recover.events_lost") == 5);
  CHECK(copy.capture.ledger().get("recover.missing_blocks") == 2);
}

TEST_CASE("a capture cut at any byte is recovered up to there", "[copy]") {
  const std::string bytes = example();
  const auto whole = told(*Capture::open(memory_file(bytes, "whole")));
  for (size_t cut = 1; cut < bytes.size(); cut += 7) {
    auto from = Capture::open(memory_file(bytes.substr(0, cut), "cut"));
    if (!from) {
      continue;
    }
    const Copied copy = copied(*from);
    const auto some = told(copy.capture);
    REQUIRE(std::equal(some.begin(), some.end(), whole.begin()));
    CHECK(copy.capture.ledger().get("recover.unfinished_files") == 1);
    CHECK(copy.capture.ledger().get("recover.torn_bytes") == from->damage().torn_bytes);
  }
}

TEST_CASE("what an earlier recovery lost is not forgotten", "[copy]") {
  const Copied once = copied(with_damaged(example(), BlockKind::kEvents));
  const Copied twice = copied(once.bytes);
  CHECK(recovery(twice.capture.ledger()) == recovery(once.capture.ledger()));
}

TEST_CASE("a source that ends without its end on purpose has lost nothing", "[copy]") {
  CopyOptions options;
  options.count_damage = false;
  const Copied copy = copied(without(example(), BlockKind::kEnd), options);
  CHECK(copy.totals.events == 5);
  CHECK(recovery(copy.capture.ledger()).empty());
}

TEST_CASE("an event whose type is lost keeps its time, task and stack", "[copy]") {
  TestFile file(segment_info(0, 0), {EventType{64, "block", "block_rq_issue", {}}});
  file.writer().add_stack(Cookie(1, 1), kDeep);
  Event event;
  event.time_ns = 7;
  event.tid = 3;
  event.type = 64;
  event.stack = cookie_ref(1, 1);
  REQUIRE(file.writer().add_event(event));
  file.close();
  const Copied copy = copied(with_damaged(file.bytes(), BlockKind::kEventTypes));
  REQUIRE(copy.totals.events == 1);
  REQUIRE(copy.capture.event_type(64) != nullptr);
  CHECK(copy.capture.event_type(64)->full_name() == "unknown:event_64");
  CHECK(told(copy.capture).front() == "7 <...> -: 0xffffffff81000100 0xffffffff81000010");
}

TEST_CASE("segments are copied into one file, with the names of each", "[copy]") {
  const auto made = [](uint64_t segment, const std::string& module) {
    TestFile file(segment_info(segment));
    file.writer().add_stack(Cookie(static_cast<uint32_t>(segment), 1), kDeep);
    file.writer().add_symbol(kDeep[0], {"deep", 1, 2, module});
    file.event(segment * 100, 5, cookie_ref(static_cast<uint32_t>(segment), 1), "s");
    file.close();
    return file.bytes();
  };
  auto from = open_files({{"1", made(1, "old")}, {"3", made(3, "new")}});
  REQUIRE(from);
  const Copied copy = copied(*from);
  CHECK(told(copy.capture) == std::vector<std::string>{"100 <...> s: deep+0x1/0x2 [old] 0xffffffff81000010",
                                                       "300 <...> s: deep+0x1/0x2 [new] 0xffffffff81000010"});
  CHECK(copy.capture.info().session == 0);
  CHECK(recovery(copy.capture.ledger()) == Lost{{"recover.missing_segments", 1}});
}

TEST_CASE("the copy of an import keeps the cookies that never had a stack", "[copy]") {
  TestFile file(segment_info(0, 0));
  file.writer().add_stack(Cookie(1, 1), kDeep);
  file.event(1, 5, cookie_ref(1, 1), "s");
  file.event(2, 5, cookie_ref(1, 8), "s");  // not in its generation's map
  file.event(3, 5, cookie_ref(2, 9), "s");  // of a generation without a map
  Ledger ledger;
  ledger.set("import.events", 3);
  ledger.set("import.stale_cookies", 1);
  ledger.set("import.unknown_cookies", 1);
  file.close(ledger);
  const auto counters = [](const Copied& copy) {
    const Ledger& l = copy.capture.ledger();
    return std::array<uint64_t, 3>{l.get("import.stale_cookies"), l.get("import.unknown_cookies"),
                                   l.get("recover.stacks_missing")};
  };
  const Copied copy = copied(file.bytes());
  CHECK(counters(copy) == std::array<uint64_t, 3>{1, 1, 0});
  uint64_t cookies = 0;
  REQUIRE(copy.capture.for_each_event([&](const Event& event) {
    cookies += event.stack.state == StackRef::State::kCookie ? 1 : 0;
    return true;
  }));
  CHECK(cookies == 3);
  CHECK(counters(copied(file.bytes(), {.from_ns = 3})) == std::array<uint64_t, 3>{1, 0, 0});
  // With its map lost, all three are without a stack, and the import accounts for two.
  const auto lost = counters(copied(with_damaged(file.bytes(), BlockKind::kStacks)));
  CHECK(lost[0] + lost[1] + lost[2] == 3);
}

TEST_CASE("a copy that cannot be written is a failure", "[copy]") {
  const std::string bytes = example();
  auto from = Capture::open(memory_file(bytes, "source"));
  for (size_t fail = 3; fail < 12; ++fail) {
    auto disk = std::make_shared<Disk>();
    disk->fail_at = fail;
    disk->keep_failing = true;
    auto writer = CaptureWriter::create(std::make_unique<FaultyFile>(disk), copy_info(*from, {}), from->event_types(),
                                        copy_writer_options());
    REQUIRE(writer);
    auto done = copy_capture(*from, **writer, {});
    REQUIRE_FALSE(done);
    CHECK(done.error().errnum == ENOSPC);
  }
}

TEST_CASE("a cookie of any slot is copied, and costs no memory for the slots below it", "[copy]") {
  TestFile file(segment_info(0, 0));
  for (const uint32_t slot : {3U, 8388607U, 8388608U, UINT32_MAX}) {
    const uint64_t frame = slot;
    file.writer().add_stack(Cookie(1, slot), std::span(&frame, 1));
  }
  for (const uint32_t slot : {UINT32_MAX, 3U, 8388608U, 8388607U, UINT32_MAX}) {
    file.event(1, 5, cookie_ref(1, slot), "s");
  }
  file.close();
  const Copied copy = copied(file.bytes());
  std::vector<uint32_t> slots;
  REQUIRE(copy.capture.for_each_event([&](const Event& event) {
    slots.push_back(event.stack.cookie.slot());
    CHECK(copy.capture.stack(event.stack.cookie).front() == event.stack.cookie.slot());
    return true;
  }));
  CHECK(slots == std::vector<uint32_t>{UINT32_MAX, 3, 8388608, 8388607, UINT32_MAX});
}
