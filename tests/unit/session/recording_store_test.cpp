// SPDX-License-Identifier: Apache-2.0
// What a recording keeps, by a script: segments, and the snapshots of a flight recorder.
#include <random>

#include "support/recording_fixture.h"

using namespace stackmap;
using namespace stackmap_test;

namespace {

struct InSegments : ScriptedRecording {
  InSegments() {
    SegmentOptions segments;
    segments.base = tree.path("w");
    options.segments = segments;
  }
  // So many parts of so many events, which do not compress; then Ctrl-C. A flush reads one part at most.
  void play(uint64_t events, size_t parts) {
    for (uint64_t i = 0; i < events; ++i) {
      ++time_ns;
      source.record(kFree, kfree(time_ns, random(), {1 + i % 9, 77}));
    }
    if (parts > 1) {
      source.then([this, events, parts] { play(events, parts - 1); });
    } else {
      interrupt();
    }
  }
  uint64_t time_ns = 1000;
  std::mt19937_64 random{1};
  Capture open() const {
    std::vector<std::string> paths;
    for (const uint64_t number : find_segments(options.segments->base)) {
      paths.push_back(segment_path(options.segments->base, number));
    }
    auto opened = Capture::open(paths);
    REQUIRE(opened);
    return std::move(opened).value();
  }
};

struct InFlight : InSegments {
  InFlight() {
    options.flight_bytes = FlightRecorder::kMinBytes;
    options.flush_ns = 3600000000000;
  }
  // Runs `what` once `text` has been noted.
  void once_noted(const std::string& text, std::function<void()> what) {
    source.then([this, text, what = std::move(what)]() mutable {
      if (noted(text)) {
        what();
      } else {
        once_noted(text, std::move(what));
      }
    });
  }
};

}  // namespace

TEST_CASE("rotation: every event is in one segment, and each stands alone") {
  InSegments recording;
  recording.options.segments->rotate_bytes = SegmentFiles::kMinSegment;
  recording.options.flush_ns = 2000000;
  constexpr uint64_t kEvents = 60000;
  recording.play(kEvents / 6, 6);  // of 80 KB each
  const auto result = recording.run();
  REQUIRE(result);
  const auto numbers = find_segments(recording.options.segments->base);
  REQUIRE(numbers.size() >= 3);
  CHECK(result->segments == numbers.size());
  CHECK(result->removed == 0);
  CHECK(result->total.events == kEvents);
  uint64_t events = 0;
  uint64_t counted = 0;
  for (const uint64_t number : numbers) {
    const std::string path = segment_path(recording.options.segments->base, number);
    const auto capture = Capture::open(path);
    REQUIRE(capture);
    CHECK(capture->damage().closed);
    CHECK(capture->info().segment == number);
    REQUIRE(capture->for_each_event([&](const Event& event) {
      CHECK(event.stack.cookie.generation() == number);  // each begins the next generation
      REQUIRE(capture->stack(event.stack.cookie).size() == 2);
      return true;
    }));
    events += capture->event_count();
    counted += capture->ledger().get("event.kmem:kfree.recorded");
    CHECK(std::filesystem::exists(path.substr(0, path.size() - 4) + ".map"));
  }
  CHECK(events == kEvents);
  CHECK(counted == kEvents);
  CHECK(result->ledger.get("event.kmem:kfree.recorded") == kEvents);
}

TEST_CASE("the oldest segments make room, and are counted") {
  InSegments recording;
  recording.options.segments->rotate_bytes = SegmentFiles::kMinSegment;
  recording.options.segments->keep = 2;
  recording.options.flush_ns = 2000000;
  recording.play(10000, 6);
  const auto result = recording.run();
  REQUIRE(result);
  CHECK(result->segments >= 3);
  CHECK(find_segments(recording.options.segments->base).size() == 2);
  CHECK(result->removed == result->segments - 2);
  CHECK(recording.open().info().session != 0);
}

TEST_CASE("a flight recorder that nothing asks writes all it holds at the end") {
  InFlight recording;
  recording.play(50, 1);
  const auto result = recording.run();
  REQUIRE(result);
  REQUIRE(result->snapshots == std::vector<std::string>{segment_path(recording.options.segments->base, 1)});
  CHECK(recording.open().event_count() == 50);
  CHECK(recording.noted("the end: 50 events in " + result->snapshots.front()));
  CHECK(result->segments == 1);
}

TEST_CASE("an event triggers a snapshot of what came before, and the recording goes on") {
  InFlight recording;
  recording.options.triggers = {"kmem:kfree ptr=7"};
  for (uint64_t i = 1; i <= 9; ++i) {
    recording.source.record(kFree, kfree(i, i));
  }
  recording.once_noted("kmem:kfree ptr=7: ", [&] {
    recording.source.record(kFree, kfree(100, 100));
    recording.interrupt();
  });
  const auto result = recording.run();
  REQUIRE(result);
  REQUIRE(result->snapshots.size() == 1);  // none at the end: a trigger is given
  const auto held = pointers(recording.open());
  REQUIRE(held.size() >= 7);
  CHECK(held[6] == 7);
  CHECK(std::ranges::count(held, 100) == 0);
  CHECK(result->total.events == 10);
}

TEST_CASE("a snapshot holds the time around what asked for it, and no more") {
  InFlight recording;
  recording.options.triggers = {"kmem:kfree ptr=7"};
  recording.options.before_ns = 10;
  recording.options.after_ns = 5000000;
  for (const uint64_t time :
       {uint64_t{100}, uint64_t{989}, uint64_t{990}, uint64_t{1000}, uint64_t{5001000}, uint64_t{5001001}}) {
    recording.source.record(kFree, kfree(time, time == 1000 ? 7 : time));
  }
  recording.once_noted("events in", [&] { recording.interrupt(); });
  REQUIRE(recording.run());
  CHECK(recording.noted("a snapshot follows in 0.0 s"));
  CHECK(pointers(recording.open()) == std::vector<uint64_t>{990, 7, 5001000});
}

TEST_CASE("losses trigger a snapshot, and trigger another when as many are lost again") {
  InFlight recording;
  recording.options.triggers = {"lost>10"};
  const auto lose = [&](uint64_t events) {
    recording.source.count(kFree, [&](KernelEventCounters& c) { c.counters.ring_full += events; });
  };
  recording.source.record(kFree, kfree(1, 1));
  recording.source.then([&] { lose(10); });
  recording.source.then([&] { CHECK_FALSE(recording.noted("lost>10")); });
  recording.source.then([&] { lose(1); });
  recording.once_noted("lost>10: ", [&] {
    lose(10);
    recording.source.then([&] { lose(1); });
    recording.once_noted("w-000002.smc", [&] { recording.interrupt(); });
  });
  const auto result = recording.run();
  REQUIRE(result);
  CHECK(result->snapshots.size() == 2);
}

TEST_CASE("the exit code of the command asks for a snapshot, or does not") {
  for (const auto& [code, snapshots] : {std::pair<std::string, size_t>{"3", 1}, {"0", 0}}) {
    InFlight recording;
    recording.options.triggers = {"exit!=0"};
    recording.options.command = {"sh", "-c", "exit " + code};
    recording.source.record(kFree, kfree(1, 1));
    const auto result = recording.run();
    REQUIRE(result);
    CHECK(result->snapshots.size() == snapshots);
    CHECK(recording.noted("exit!=0 (it was 3): 1 events in ") == (snapshots == 1));
  }
}

TEST_CASE("SIGUSR2 asks for a snapshot; while one waits for its time another is refused, and the end writes it") {
  InFlight recording;
  recording.options.after_ns = 3600000000000;
  recording.source.record(kFree, kfree(1, 1));
  recording.source.then([] { (void)::raise(SIGUSR2); });
  recording.once_noted("SIGUSR2: a snapshot follows in 3600.0 s", [&] {
    (void)::raise(SIGUSR2);
    recording.once_noted("a snapshot (SIGUSR2) is being written; none for SIGUSR2", [&] { recording.interrupt(); });
  });
  const auto result = recording.run();
  REQUIRE(result);
  CHECK(result->snapshots.size() == 1);
  CHECK(recording.noted("SIGUSR2: 1 events in "));
}

TEST_CASE("a snapshot that cannot be written is told, and the recording goes on") {
  InFlight recording;
  recording.options.segments->base = recording.tree.path("gone/w");
  recording.source.record(kFree, kfree(1, 1));
  recording.source.then([] { (void)::raise(SIGUSR2); });
  recording.once_noted("SIGUSR2: no snapshot: ", [&] {
    recording.source.record(kFree, kfree(2, 2));
    recording.interrupt();
  });
  const auto result = recording.run();
  REQUIRE(result);
  CHECK(result->total.events == 2);
  CHECK(result->snapshots.empty());
  CHECK(recording.noted("the end: no snapshot: "));
}

TEST_CASE("triggers that are none are refused before anything is written") {
  for (const auto& [text, why] : {std::pair<std::string, std::string>{"kmem:kfree colour=1", "has no field colour"},
                                  {"kmem:kmalloc", "that event is not recorded; name it with -e too"}}) {
    InFlight recording;
    recording.options.triggers = {text};
    const auto result = recording.run();
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == ErrorKind::kUsage);
    CHECK(result.error().message().find(why) != std::string::npos);
  }
}
