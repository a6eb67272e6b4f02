// SPDX-License-Identifier: Apache-2.0
#include "capture/capture.h"

#include <map>
#include <random>

#include "capture/block.h"
#include "capture/block_writer.h"
#include "capture/capture_writer.h"
#include "support/capture_info.h"
#include "support/catch.h"
#include "support/faulty_file.h"

using namespace stackmap;
using stackmap_test::Disk;
using stackmap_test::FaultyFile;

namespace {

CaptureInfo example_info() {
  CaptureInfo info;
  info.host = {"6.1.0", "#1 SMP", "x86_64", "boot", "0123ab", 4096, 8};
  info.tool = "stackmap test";
  info.command = "record -a";
  info.symbol_source = "a test";
  info.map_capacity = 16384;
  info.max_depth = 127;
  info.ring_bytes = 524288;
  info.anchors = {{1, 2, 3}};
  return info;
}

struct Writing {
  std::shared_ptr<Disk> disk = std::make_shared<Disk>();
  std::unique_ptr<CaptureWriter> writer;

  explicit Writing(size_t block_bytes = 4096) {
    CaptureWriter::Options options;
    options.block_bytes = block_bytes;
    options.capture_id = 99;
    auto made = CaptureWriter::create(std::make_unique<FaultyFile>(disk), example_info(), known_event_types(), options);
    REQUIRE(made);
    writer = std::move(made).value();
  }
  Result<Capture> open() const { return Capture::open(memory_file(disk->bytes, "memory")); }
};

// The stack that belongs to a cookie in these tests: any other frames under it are wrong.
std::vector<uint64_t> frames_of(Cookie cookie) {
  std::vector<uint64_t> frames;
  for (uint32_t i = 0; i < 1 + cookie.slot() % 5; ++i) {
    frames.push_back(0xffffffff81000000 + cookie.generation() * 0x100000 + cookie.slot() * 16 + i);
  }
  return frames;
}

Event kfree_event(uint64_t n, Cookie cookie, std::span<const uint64_t> fields) {
  Event event;
  event.time_ns = 1000000 + n * 100;
  event.cpu = static_cast<uint32_t>(n % 2);
  event.tid = 100 + static_cast<uint32_t>(n % 3);
  event.type = kKfree;
  event.stack.state = StackRef::State::kCookie;
  event.stack.cookie = cookie;
  event.fields = fields;
  return event;
}

// `n` kfree events over 20 stacks, in two generations; flushed every 500.
void write_events(CaptureWriter& writer, uint64_t n) {
  Ledger ledger;
  for (uint64_t i = 0; i < n; ++i) {
    const Cookie cookie(i < n / 2 ? 1 : 2, static_cast<uint32_t>(i % 20));
    if (i % (n / 2) < 20) {
      writer.add_stack(cookie, frames_of(cookie));
      for (const uint64_t frame : frames_of(cookie)) {
        writer.add_symbol(frame, {"function_" + std::to_string(frame % 1000), 4, 16, ""});
      }
    }
    const std::array<uint64_t, 1> fields = {0xffff888000000000 + i * 64};
    REQUIRE(writer.add_event(kfree_event(i, cookie, fields)));
    if (i % 500 == 499) {
      ledger.set("event.kmem:kfree.recorded", i + 1);
      REQUIRE(writer.flush(&ledger));
    }
  }
  REQUIRE(writer.close(ledger));
}

// Reads all events and checks each that has a stack against frames_of(). Returns how many, and how many had none.
std::pair<uint64_t, uint64_t> check_events(const Capture& capture) {
  uint64_t events = 0;
  uint64_t without = 0;
  REQUIRE(capture.for_each_event([&](const Event& event) {
    ++events;
    const auto stack = capture.stack(event.stack.cookie);
    if (stack.empty()) {
      ++without;
    } else {
      const auto right = frames_of(event.stack.cookie);
      REQUIRE(std::equal(stack.begin(), stack.end(), right.begin(), right.end()));
    }
    return true;
  }));
  return {events, without};
}

}  // namespace

TEST_CASE("a capture is read back whole") {
  Writing w;
  w.writer->add_task({5, TaskChange::kExec, 100, 90, 1, "a task"});
  const uint64_t id = w.writer->string_id("filp");
  CHECK(w.writer->string_id("filp") == id);
  CHECK(w.writer->string_id("dentry") != id);
  write_events(*w.writer, 5000);
  auto capture = w.open();
  REQUIRE(capture);
  CHECK(stackmap_test::told(capture->info()) == stackmap_test::told(example_info()));
  CHECK(capture->info().anchors.front().realtime_ns == 3);
  CHECK(capture->event_types() == known_event_types());
  CHECK(capture->string(id) == "filp");
  CHECK(capture->string(77) == "?");
  CHECK(capture->tasks().name(100, 10).comm == "a task");
  CHECK(capture->tasks().name(100, 10).tgid == 90);
  CHECK(capture->event_count() == 5000);
  CHECK(capture->stacks().size() == 40);
  CHECK(capture->ledger().get("event.kmem:kfree.recorded") == 5000);
  CHECK(check_events(*capture) == std::pair<uint64_t, uint64_t>{5000, 0});
  CHECK_FALSE(capture->damage().any());
  CHECK(capture->damage().closed);
  CHECK(w.disk->synced == std::vector<size_t>{w.disk->bytes.size()});
  const uint64_t frame = frames_of(Cookie(1, 3)).front();
  CHECK(capture->symbol_text(frame) == "function_" + std::to_string(frame % 1000) + "+0x4/0x10");
  CHECK(capture->symbol_text(0x1234) == "0x1234");
}

TEST_CASE("session and segment are read back, and are 0 where a header has none") {
  Writing alone;
  write_events(*alone.writer, 100);
  CHECK(alone.open()->info().session == 0);
  CHECK(alone.open()->info().segment == 0);
  CaptureInfo info = example_info();
  info.session = UINT64_MAX;
  info.segment = 7;
  auto disk = std::make_shared<Disk>();
  REQUIRE(CaptureWriter::create(std::make_unique<FaultyFile>(disk), info, known_event_types(), {}));
  auto capture = Capture::open(memory_file(disk->bytes, "memory"));
  REQUIRE(capture);
  CHECK(stackmap_test::told(capture->info()) == stackmap_test::told(info));
}

TEST_CASE("events come back in order, with their fields") {
  Writing w;
  write_events(*w.writer, 1000);
  auto capture = w.open();
  uint64_t n = 0;
  REQUIRE(capture->for_each_event([&](const Event& event) {
    REQUIRE(event.time_ns == 1000000 + n * 100);
    REQUIRE(event.tid == 100 + n % 3);
    REQUIRE(event.fields[0] == 0xffff888000000000 + n * 64);
    return ++n < 700;
  }));
  CHECK(n == 700);
}

TEST_CASE("a capture cut at any byte opens, and every event that is left resolves") {
  Writing w(512);
  write_events(*w.writer, 400);
  size_t opened = 0;
  for (size_t cut = 0; cut <= w.disk->bytes.size(); ++cut) {
    auto capture = Capture::open(memory_file(w.disk->bytes.substr(0, cut), "cut"));
    if (!capture) {
      REQUIRE(capture.error().kind == ErrorKind::kCorrupt);
      REQUIRE(opened == 0);
      continue;
    }
    ++opened;
    const auto [events, without] = check_events(*capture);
    REQUIRE(events == capture->event_count());
    REQUIRE(without == 0);
    REQUIRE(capture->damage().closed == (cut == w.disk->bytes.size()));
  }
  CHECK(opened > w.disk->bytes.size() / 2);
}

TEST_CASE("what was on the disk when the power went is read, whatever the file system has left behind it") {
  constexpr uint64_t kAtOnce = 100;
  Writing w(512);
  for (uint64_t i = 0; i < 1500; ++i) {
    const Cookie cookie(1, static_cast<uint32_t>(i / 10));
    if (i % 10 == 0) {
      w.writer->add_stack(cookie, frames_of(cookie));
    }
    const std::array<uint64_t, 1> fields = {i};
    REQUIRE(w.writer->add_event(kfree_event(i, cookie, fields)));
    if (i % kAtOnce == kAtOnce - 1) {
      REQUIRE(w.writer->flush(nullptr));
      REQUIRE(w.writer->sync());
    }
  }
  const std::string& all = w.disk->bytes;
  REQUIRE(w.disk->synced.size() == 15);
  std::mt19937 random(7);
  for (size_t n = 0; n < w.disk->synced.size(); ++n) {
    const size_t synced = w.disk->synced[n];
    std::vector<std::string> left = {all.substr(0, synced), all.substr(0, synced)};
    left.back().resize(all.size(), '\0');  // the size was, and nothing of what it counts
    for (int i = 0; i < 50; ++i) {
      // Of the rest some sectors are there, some are not; the one that the sync ended in was written again.
      left.push_back(all.substr(0, synced + random() % (all.size() - synced + 1)));
      for (size_t sector = (synced + 511) / 512 * 512; sector < left.back().size(); sector += 512) {
        if (random() % 2 == 0) {
          left.back().replace(sector, 512, std::min<size_t>(512, left.back().size() - sector), '\0');
        }
      }
    }
    for (const std::string& bytes : left) {
      auto capture = Capture::open(memory_file(bytes, "left"));
      REQUIRE(capture);
      uint64_t first = 0;  // of the events that were on the disk
      REQUIRE(capture->for_each_event([&](const Event& event) {
        const bool whole = !capture->stack(event.stack.cookie).empty();
        first += event.fields[0] < (n + 1) * kAtOnce && whole ? 1U : 0U;
        return true;
      }));
      REQUIRE(first == (n + 1) * kAtOnce);
      (void)check_events(*capture);
      REQUIRE_FALSE(capture->damage().closed);
    }
  }
}

TEST_CASE("a flipped byte anywhere never gives a wrong stack or a wrong count") {
  Writing w(512);
  write_events(*w.writer, 400);
  std::mt19937 random(4);
  for (int i = 0; i < 10000; ++i) {
    std::string bytes = w.disk->bytes;
    const size_t at = random() % bytes.size();
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    auto capture = Capture::open(memory_file(bytes, "flipped"));
    REQUIRE(capture);
    const auto [events, without] = check_events(*capture);
    INFO("byte " << at);
    REQUIRE(capture->damage().any());
    REQUIRE(events + capture->damage().events_lost == capture->event_count());
  }
}

TEST_CASE("every write failed in turn, whole or in part: the file opens and what it holds is right") {
  Writing counted(512);
  write_events(*counted.writer, 200);
  for (size_t fail = 3; fail < counted.disk->appends; ++fail) {
    for (const size_t take : {size_t{0}, size_t{50}, size_t{100}}) {
      Writing w(512);
      w.disk->fail_at = fail;
      w.disk->take = take;
      w.disk->keep_failing = true;
      uint64_t taken = 0;
      bool failed = false;
      for (uint64_t i = 0; i < 200 && !failed; ++i) {
        const Cookie cookie(1, static_cast<uint32_t>(i % 20));
        if (i < 20) {
          w.writer->add_stack(cookie, frames_of(cookie));
        }
        const std::array<uint64_t, 1> fields = {i};
        failed = !w.writer->add_event(kfree_event(i, cookie, fields));
        taken += failed ? 0 : 1;
        if (i % 50 == 49) {
          failed = failed || !w.writer->flush(nullptr);
        }
      }
      auto capture = w.open();
      REQUIRE(capture);
      const auto [events, without] = check_events(*capture);
      REQUIRE(without == 0);
      REQUIRE(events == w.writer->events_written());
      REQUIRE(events <= taken);
      REQUIRE_FALSE(capture->damage().closed);
    }
  }
}

TEST_CASE("a disk that was full for a while costs nothing") {
  Writing w(512);
  w.disk->fail_at = 5;
  const Cookie cookie(1, 0);
  w.writer->add_stack(cookie, frames_of(cookie));
  const std::array<uint64_t, 1> fields = {0};
  size_t failures = 0;
  for (uint64_t i = 0; i < 300; ++i) {
    while (!w.writer->add_event(kfree_event(i, cookie, fields))) {
      ++failures;
    }
  }
  REQUIRE(w.writer->close({}));
  CHECK(failures == 1);
  auto capture = w.open();
  CHECK(check_events(*capture) == std::pair<uint64_t, uint64_t>{300, 0});
  CHECK_FALSE(capture->damage().any());
}

TEST_CASE("unknown kinds of blocks are skipped and counted, unknown tags and counters kept or skipped") {
  auto disk = std::make_shared<Disk>();
  Writing w;
  write_events(*w.writer, 100);
  BlockWriter writer(std::make_unique<FaultyFile>(disk), 99, 1);
  BlockHeader header;
  header.kind = 4711;
  REQUIRE(writer.write(header, "from the future"));
  auto capture = Capture::open(memory_file(w.disk->bytes + disk->bytes, "future"));
  REQUIRE(capture);
  CHECK(capture->damage().unknown_blocks == 1);
  CHECK(capture->damage().bad_blocks == 0);
  CHECK(check_events(*capture).first == 100);
}

TEST_CASE("refs come from the recorder where it closed the capture, else from the events") {
  Writing w;
  const Cookie cookie(1, 4);
  w.writer->add_stack(cookie, frames_of(cookie));
  const std::array<uint64_t, 1> fields = {0};
  for (uint64_t i = 0; i < 3; ++i) {
    REQUIRE(w.writer->add_event(kfree_event(i, cookie, fields)));
  }
  REQUIRE(w.writer->flush(nullptr));
  CHECK(w.open()->counted_stacks()->front().ref == 3);
  const std::pair<uint32_t, uint64_t> refs[] = {{4, 2147483647}};
  REQUIRE(w.writer->write_refs(1, refs));
  REQUIRE(w.writer->close({}));
  CHECK(w.open()->counted_stacks()->front().ref == 2147483647);
}

TEST_CASE("a stack that went with its block is missing, not another one") {
  Writing w;
  const Cookie cookie(1, 4);
  w.writer->add_stack(cookie, frames_of(cookie));
  const std::array<uint64_t, 1> fields = {0};
  REQUIRE(w.writer->add_event(kfree_event(0, cookie, fields)));
  REQUIRE(w.writer->close({}));
  auto whole = w.open();
  std::string bytes = w.disk->bytes;
  for (const BlockInfo& block : whole->blocks()) {
    if (static_cast<BlockKind>(block.kind) == BlockKind::kStacks) {
      bytes[block.offset + kBlockHeaderBytes + 6] ^= 1;
    }
  }
  auto capture = Capture::open(memory_file(bytes, "damaged"));
  CHECK(check_events(*capture) == std::pair<uint64_t, uint64_t>{1, 1});
  CHECK(capture->damage().bad_blocks == 1);
}
