// SPDX-License-Identifier: Apache-2.0
#include "store/snapshots.h"

#include <poll.h>

#include <array>

#include "capture/capture.h"
#include "capture/capture_writer.h"
#include "support/catch.h"
#include "support/temp_tree.h"

using namespace stackmap;

namespace {

// A flight recorder with two captures, of the events at 10 and 20, and at 30 and 40.
struct Held {
  explicit Held(const std::string& base = "w") {
    SegmentOptions options;
    options.base = tree.path(base);
    files = std::move(SegmentFiles::create(options, sink())).value();
    for (uint64_t segment = 1; segment <= 2; ++segment) {
      CaptureInfo info;
      info.session = 5;
      info.segment = segment;
      auto writer = std::move(CaptureWriter::create(flight.open_next().value(), info, known_event_types(), {})).value();
      for (const uint64_t time : {segment * 20 - 10, segment * 20}) {
        const std::array<uint64_t, 1> pointer = {time};
        Event event;
        event.time_ns = time;
        event.type = kKfree;
        event.fields = pointer;
        REQUIRE(writer->add_event(event));
      }
      REQUIRE(writer->close({}));
    }
    flight.close_last();
  }
  std::unique_ptr<Snapshots> snapshots(uint64_t before_ns, uint64_t after_ns) {
    auto made = Snapshots::create({before_ns, after_ns, sink()}, flight, *files);
    REQUIRE(made);
    return std::move(made).value();
  }
  std::function<void(const std::string&)> sink() {
    return [this](const std::string& text) { notes += text + "\n"; };
  }

  TempTree tree;
  std::string notes;
  FlightRecorder flight{1 << 20};
  std::unique_ptr<SegmentFiles> files;
};

void wait_until_written(const Snapshots& snapshots) {
  pollfd ready = {snapshots.done_fd(), POLLIN, 0};
  REQUIRE(::poll(&ready, 1, -1) == 1);
}

std::vector<uint64_t> times(const std::string& path) {
  const auto capture = Capture::open(path);
  REQUIRE(capture);
  std::vector<uint64_t> all;
  REQUIRE(capture->for_each_event([&](const Event& event) {
    all.push_back(event.time_ns);
    return true;
  }));
  return all;
}

}  // namespace

TEST_CASE("a snapshot is a capture of all that is held, and the next one has the next number") {
  Held held;
  const auto snapshots = held.snapshots(0, 0);
  for (size_t number = 1; number <= 2; ++number) {
    const auto answer = snapshots->ask("somebody", 25);
    REQUIRE(answer);
    CHECK(snapshots->pending());
    CHECK_FALSE((*answer)->done);
    snapshots->begin();
    wait_until_written(*snapshots);
    snapshots->end();
    CHECK_FALSE(snapshots->pending());
    REQUIRE((*answer)->done);
    CHECK((*answer)->named);
    CHECK((*answer)->path.value() == segment_path(held.tree.path("w"), number));
    CHECK(times((*answer)->path.value()) == std::vector<uint64_t>{10, 20, 30, 40});
  }
  CHECK(snapshots->written().size() == 2);
  CHECK(held.notes.find("somebody: 4 events in " + held.tree.path("w-000001.smc")) != std::string::npos);
  pollfd idle = {snapshots->done_fd(), POLLIN, 0};
  CHECK(::poll(&idle, 1, 0) == 0);
}

TEST_CASE("it holds the time before and after it was asked for") {
  Held held;
  const auto snapshots = held.snapshots(5, 10);
  CHECK(snapshots->after_ns() == 10);
  REQUIRE(snapshots->ask("somebody", 25));
  snapshots->begin();
  snapshots->end();  // which waits
  CHECK(times(snapshots->written().front()) == std::vector<uint64_t>{20, 30});
}

TEST_CASE("one at a time") {
  Held held;
  const auto snapshots = held.snapshots(0, 0);
  const auto first = snapshots->ask("first", 1);
  const auto second = snapshots->ask("second", 2);
  REQUIRE_FALSE(second);
  CHECK(second.error().errnum == EBUSY);
  CHECK(second.error().context == "a snapshot (first) is being written; none for second");
  snapshots->give_up(make_error(ErrorKind::kFailed, "no time"));
  CHECK((*first)->done);
  CHECK_FALSE((*first)->path);
  CHECK(held.notes == "first: no snapshot: no time\n");
  CHECK(snapshots->ask("second", 2));
}

TEST_CASE("the last one is what was asked for, or what the end asks for, or none") {
  Held held;
  const auto snapshots = held.snapshots(0, 1000);
  snapshots->last(std::nullopt);
  CHECK(snapshots->written().empty());
  snapshots->last("the end");
  CHECK(snapshots->written().size() == 1);
  const auto asked = snapshots->ask("somebody", 25);
  snapshots->begin();
  snapshots->last("the end");  // that one is finished, and then all is written
  CHECK((*asked)->done);
  CHECK(snapshots->written().size() == 3);
  REQUIRE(snapshots->ask("somebody else", 25));
  snapshots->last("the end");
  CHECK(snapshots->written().size() == 4);
  CHECK(held.notes.find("somebody else: 4 events") != std::string::npos);
}

TEST_CASE("one that cannot be written is told, and leaves no file") {
  Held held("gone/w");
  const auto snapshots = held.snapshots(0, 0);
  const auto answer = snapshots->ask("somebody", 1);
  snapshots->begin();
  snapshots->end();
  REQUIRE((*answer)->done);
  CHECK((*answer)->path.error().errnum == ENOENT);
  CHECK(snapshots->written().empty());
  CHECK(held.notes.find("somebody: no snapshot: ") != std::string::npos);
}
