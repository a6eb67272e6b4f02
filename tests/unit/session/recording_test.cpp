// SPDX-License-Identifier: Apache-2.0
// A whole recording by a script: what is in the capture and the ledger, what ends it, and what may go wrong.
#include "session/recording.h"

#include <pthread.h>
#include <sys/wait.h>

#include <array>
#include <atomic>

#include "support/cache_reader.h"
#include "support/recording_fixture.h"

using namespace stackmap;
using namespace stackmap_test;

TEST_CASE("what a source plays is in the capture, and the ledger accounts for all of it") {
  ScriptedRecording recording;
  recording.source.count(kFree, [](KernelEventCounters& c) {
    c.counters.filtered = 40;
    c.counters.ring_full = 3;
    c.counters.output_error = 2;
    c.counters.scratch_busy = 1;
    c.recursion_misses = 4;
  });
  for (uint64_t i = 0; i < 100; ++i) {
    recording.source.record(kFree, kfree(1000 + i, i, {11 + i % 5, 100}));
  }
  recording.source.record(kFree, std::string(7, 'x'));  // shorter than any record
  recording.source.lost(6, 3);
  recording.interrupt();
  for (uint64_t i = 100; i < 110; ++i) {
    recording.source.hold(kFree, kfree(1000 + i, i));  // read when all is over
  }
  const auto result = recording.run();
  REQUIRE(result);
  const Capture capture = recording.capture();
  CHECK(capture.damage().closed);
  CHECK_FALSE(capture.damage().any());
  std::vector<uint64_t> expected(110);
  std::ranges::generate(expected, [n = uint64_t{0}]() mutable { return n++; });
  CHECK(pointers(capture) == expected);
  CHECK(capture.symbol_text(11) == "f11+0x1/0x10");
  CHECK(capture.info().symbol_source == "numbers");
  for (const Ledger* ledger : {&result->ledger, &capture.ledger()}) {
    CHECK(ledger->get("event.kmem:kfree.hits") == 111 + 40 + 3 + 2 + 1 + 4);
    CHECK(ledger->get("event.kmem:kfree.sent") == 111);
    CHECK(ledger->get("event.kmem:kfree.recorded") == 110);
    CHECK(ledger->get("event.kmem:kfree.filtered") == 40);
    CHECK(ledger->get("event.kmem:kfree.recursion_misses") == 4);
    CHECK(ledger->get("ring.lost.cpu3") == 6);
    CHECK(ledger->get("map.successes") == 110);
  }
  CHECK(result->total.events == 110);
  CHECK(result->total.stacks == 6);                // {11..15, 100}, and that of the held ones
  CHECK(result->total.lost == 1 + 3 + 2 + 1 + 4);  // the one that was rejected too
  CHECK(result->total.bytes == recording.disk->bytes.size());
  CHECK_FALSE(result->command_status);
}

TEST_CASE("the source is asked in the order of its contract") {
  ScriptedRecording recording;
  recording.options.threads = {static_cast<uint32_t>(::getpid())};
  recording.options.max_depth = 200;
  recording.source.frames = 64;
  bool started = false;
  recording.hooks.started = [&] { started = true; };
  recording.interrupt();
  REQUIRE(recording.run());
  auto calls = recording.source.calls();
  std::erase(calls, "renew");
  CHECK(calls == std::vector<std::string>{"open", "attach", "follow only " + std::to_string(::getpid()), "start",
                                          "read", "stop"});
  CHECK(started);
  CHECK(recording.source.options().narrowed);
  CHECK(recording.source.options().frames == 64);  // as many as it has
  CHECK(recording.noted("recording 1 events; the stack map holds 16384 stacks of up to 64 frames"));
}

TEST_CASE("every thread of a process is followed with what it starts") {
  ScriptedRecording recording;
  recording.options.processes = {static_cast<uint32_t>(::getpid())};
  recording.interrupt();
  REQUIRE(recording.run());
  const auto calls = recording.source.calls();
  CHECK(std::ranges::count(calls, "follow " + std::to_string(::getpid())) >= 2);  // until none is new
}

TEST_CASE("a process that is not there is told, and nothing was recorded") {
  ScriptedRecording recording;
  recording.options.processes = {kNobody};
  const auto result = recording.run();
  REQUIRE_FALSE(result);
  CHECK(result.error().message().find("cannot record process " + std::to_string(kNobody)) != std::string::npos);
  CHECK(std::ranges::count(recording.source.calls(), "start") == 0);
}

TEST_CASE("what cannot be opened leaves no file") {
  ScriptedRecording recording;
  bool opened = false;
  recording.hooks.open_file = [&]() -> Result<std::unique_ptr<WritableFile>> {
    opened = true;
    return make_error(ErrorKind::kFailed, "no file");
  };
  recording.source.refuses = make_error(ErrorKind::kUnsupported, "no such kernel");
  CHECK(recording.run().error().kind == ErrorKind::kUnsupported);
  CHECK_FALSE(opened);
  ScriptedRecording second;
  second.hooks.open_file = recording.hooks.open_file;
  CHECK(second.run().error().context == "no file");
  CHECK(opened);
}

TEST_CASE("a recording ends when its time is over") {
  ScriptedRecording recording;
  recording.options.duration_ns = 30000000;
  recording.source.record(kFree, kfree(1, 5));
  const auto result = recording.run();
  REQUIRE(result);
  CHECK(result->total.elapsed_ns >= recording.options.duration_ns);
  CHECK(pointers(recording.capture()) == std::vector<uint64_t>{5});
}

TEST_CASE("the command begins when recording is on, and its end is the recording's") {
  ScriptedRecording recording;
  const std::string file = recording.tree.path("began");
  recording.options.command = {"sh", "-c", "echo yes >" + file + "; exit 3"};
  bool early = false;
  recording.source.on_call = [&](const std::string& call) {
    early = early || (call == "start" && std::filesystem::exists(file));
  };
  const auto result = recording.run();
  REQUIRE(result);
  CHECK_FALSE(early);
  CHECK(std::filesystem::exists(file));
  REQUIRE(result->command_status);
  CHECK(Command::exit_code(*result->command_status) == 3);
}

TEST_CASE("a command that outlives the recording is ended, and its status is nobody's") {
  ScriptedRecording recording;
  recording.options.command = {"sleep", "1000"};
  recording.interrupt();
  const auto result = recording.run();
  REQUIRE(result);
  CHECK_FALSE(result->command_status);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left
}

TEST_CASE("a command that is not there ends the recording as a shell would") {
  ScriptedRecording recording;
  recording.options.command = {"/no/such/command"};
  CHECK(recording.run().error().kind == ErrorKind::kCommandNotFound);
}

TEST_CASE("an error of the source ends the recording, and the capture holds what came before") {
  ScriptedRecording recording;
  recording.source.record(kFree, kfree(1, 5));
  recording.source.fail(make_error(ErrorKind::kFailed, "the ring broke"), ScriptedSource::Fails::kOnce);
  const auto result = recording.run();
  REQUIRE_FALSE(result);
  CHECK(result.error().context == "the ring broke");
  const Capture capture = recording.capture();
  CHECK(capture.damage().closed);
  CHECK(pointers(capture) == std::vector<uint64_t>{5});
}

TEST_CASE("a source that stays broken leaves what was flushed, and the error says how much that is") {
  ScriptedRecording recording;
  recording.source.record(kFree, kfree(1, 5));
  recording.source.record(kFree, kfree(2, 6));
  recording.source.then([] { (void)::raise(SIGUSR2); });  // flushes
  std::function<void()> wait = [&] {
    if (recording.source.calls().back() == "renew") {  // which is a part of it
      recording.source.record(kFree, kfree(3, 7));
      recording.source.fail(make_error(ErrorKind::kFailed, "the ring broke"), ScriptedSource::Fails::kForGood);
    } else {
      recording.source.then(wait);
    }
  };
  recording.options.flush_ns = 3600000000000;
  recording.source.then(wait);
  const auto result = recording.run();
  REQUIRE_FALSE(result);
  CHECK(result.error().context ==
        "recording stopped: 2 events are in the capture and can be read, 1 more could not be written: the ring broke");
  CHECK(pointers(recording.capture()) == std::vector<uint64_t>{5, 6});
  CHECK_FALSE(recording.capture().damage().closed);
}

TEST_CASE("a full disk ends the recording, and the error says how much is good") {
  ScriptedRecording recording;
  // The header, the anchor and the types are there; the first block of events is not.
  recording.hooks.started = [&] {
    recording.disk->fail_at = recording.disk->appends;
    recording.disk->keep_failing = true;
    recording.disk->take = 10;  // a torn block
  };
  for (uint64_t i = 0; i < 20; ++i) {
    recording.source.record(kFree, kfree(i, i));
  }
  const auto result = recording.run();
  REQUIRE_FALSE(result);
  CHECK(result.error().errnum == ENOSPC);
  CHECK(result.error().context.starts_with("recording stopped: 0 events are in the capture and can be read, "));
  CHECK(pointers(recording.capture()).empty());
}

TEST_CASE("each reader's thread feeds a lane, and a CPU's events keep their order") {
  constexpr size_t kReaders = 3;
  constexpr uint64_t kEach = 500;
  ScriptedRecording recording(kReaders);
  const pthread_t main = ::pthread_self();
  std::atomic<uint64_t> played{0};
  for (uint64_t i = 0; i < kEach; ++i) {
    for (uint32_t cpu = 0; cpu < kReaders; ++cpu) {
      recording.source.record(kFree, kfree(i, i, {cpu + 1, i % 50}), cpu);
    }
  }
  for (uint32_t cpu = 0; cpu < kReaders; ++cpu) {
    recording.source.then(
        [&] {
          if (++played == kReaders) {
            (void)::pthread_kill(main, SIGINT);
          }
        },
        cpu);
  }
  recording.options.flush_ns = 1000000;  // and pauses meanwhile
  const auto result = recording.run();
  REQUIRE(result);
  CHECK(result->total.events == kReaders * kEach);
  std::array<uint64_t, kReaders> next{};
  const Capture capture = recording.capture();
  REQUIRE(capture.for_each_event([&](const Event& event) {
    CHECK(event.fields[0] == next.at(event.cpu)++);
    CHECK(capture.stack(event.stack.cookie)[0] == event.cpu + 1);
    return true;
  }));
  CHECK(next == std::array<uint64_t, kReaders>{kEach, kEach, kEach});
}

TEST_CASE("what the programs send by a template's id is the event that it stands for") {
  ScriptedRecording recording;
  CacheReader programs(64);
  CookieCache cache(programs.memory(), [&](uint32_t generation) { programs.set_generation(generation); });
  recording.source.cache = &cache;
  recording.source.record(kFree, kfree(1, 1));  // its template is the first that is published
  recording.source.record(kFree, BatchBuilder(10, kNobody, kNobody).event(1, 5, {99}).bytes());
  recording.interrupt();
  const auto result = recording.run();
  REQUIRE(result);
  CHECK(programs.generation() == 1);
  CHECK(result->ledger.get("cache.hits") == 1);
  CHECK(result->ledger.get("map.successes") == 2);
  CHECK(pointers(recording.capture()) == std::vector<uint64_t>{1, 99});
}
