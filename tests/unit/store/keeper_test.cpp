// SPDX-License-Identifier: Apache-2.0
#include "store/keeper.h"

#include <array>

#include "support/catch.h"
#include "support/faulty_file.h"
#include "support/temp_tree.h"

using namespace stackmap;
using stackmap_test::Disk;
using stackmap_test::FaultyFile;

namespace {

struct OneFile {
  OneFile() {
    options.open_file = [this]() -> Result<std::unique_ptr<WritableFile>> {
      ++opened;
      return std::unique_ptr<WritableFile>(std::make_unique<FaultyFile>(disk));
    };
    options.path = "one.smc";
    options.note = [](const std::string&) {};
  }
  std::unique_ptr<Keeper> keeper() {
    auto made = Keeper::create(options);
    REQUIRE(made);
    CHECK(opened == 0);
    REQUIRE((*made)->open({}, known_event_types()));
    return std::move(made).value();
  }

  std::shared_ptr<Disk> disk = std::make_shared<Disk>();
  Keeper::Options options;
  int opened = 0;
};

void add_event(CaptureWriter& writer) {
  const std::array<uint64_t, 1> pointer = {1};
  Event event;
  event.type = kKfree;
  event.fields = pointer;
  REQUIRE(writer.add_event(event));
  REQUIRE(writer.flush(nullptr));
}

}  // namespace

TEST_CASE("one capture is never full, whatever its size") {
  OneFile one;
  const auto keeper = one.keeper();
  CHECK(one.opened == 1);
  add_event(keeper->writer());
  CHECK_FALSE(keeper->is_full());
  CHECK(keeper->path() == "one.smc");
  CHECK(keeper->events_written() == 1);
  CHECK(keeper->bytes() == one.disk->bytes.size());
  CHECK(keeper->flight() == nullptr);
  CHECK(keeper->files() == nullptr);
  REQUIRE(keeper->writer().close({}));
  keeper->close_last();
  CHECK(Capture::open(memory_file(one.disk->bytes, "one"))->info().session == 0);
}

TEST_CASE("what was flushed is put on the disk when it is time to, and not before") {
  for (const auto& [every, syncs] :
       {std::pair<std::optional<uint64_t>, size_t>{uint64_t{0}, 2}, {uint64_t{3600000000000}, 1}, {std::nullopt, 0}}) {
    OneFile one;
    one.options.sync_ns = every;
    const auto keeper = one.keeper();
    for (int i = 0; i < 2; ++i) {
      REQUIRE(keeper->sync_if_due());
      REQUIRE(keeper->wait_for_disk());  // or two may be done as one
    }
    CHECK(one.disk->synced.size() == syncs);
  }
}

TEST_CASE("segments: the next one is opened once, and begins when the one before is let go of") {
  const TempTree tree;
  OneFile unused;
  unused.options.segments.emplace();
  unused.options.segments->base = tree.path("w");
  unused.options.segments->rotate_bytes = SegmentFiles::kMinSegment;
  const auto keeper = unused.keeper();
  CHECK(unused.opened == 0);
  CHECK(keeper->path() == segment_path(tree.path("w"), 1));
  add_event(keeper->writer());
  CHECK_FALSE(keeper->is_full());
  const auto next = keeper->open_next();
  REQUIRE(next);
  CHECK(*next != &keeper->writer());
  CHECK(keeper->open_next().value() == *next);
  REQUIRE(keeper->writer().close({}));
  keeper->begin_next();
  keeper->close_previous();
  CHECK(&keeper->writer() == *next);
  CHECK(keeper->path() == segment_path(tree.path("w"), 2));
  add_event(keeper->writer());
  CHECK(keeper->events_written() == 2);  // of both
  REQUIRE(keeper->writer().close({}));
  keeper->close_last();
  keeper->files()->finish();
  const auto whole = Capture::open({keeper->path(), segment_path(tree.path("w"), 1)});
  REQUIRE(whole);  // they are of one recording
  CHECK(whole->event_count() == 2);
  CHECK(std::filesystem::exists(tree.path("w-000001.map")));
  CHECK(std::filesystem::exists(tree.path("w-000002.map")));
}

TEST_CASE("in memory: captures count as held, and the segments' place takes snapshots alone") {
  const TempTree tree;
  OneFile unused;
  unused.options.segments.emplace();
  unused.options.segments->base = tree.path("w");
  unused.options.flight_bytes = FlightRecorder::kMinBytes;
  const auto keeper = unused.keeper();
  REQUIRE(keeper->flight() != nullptr);
  REQUIRE(keeper->files() != nullptr);
  add_event(keeper->writer());
  CHECK(keeper->bytes() == keeper->flight()->bytes());
  CHECK(find_segments(tree.path("w")).empty());
}

TEST_CASE("a keeper refuses bounds that its segments refuse") {
  OneFile one;
  one.options.segments.emplace();
  one.options.segments->max_bytes = 1;
  CHECK(Keeper::create(one.options).error().kind == ErrorKind::kUsage);
}
