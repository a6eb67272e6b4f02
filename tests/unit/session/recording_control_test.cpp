// SPDX-License-Identifier: Apache-2.0
// A recording by a script, controlled through its socket.
#include "session/recording_control.h"

#include <thread>

#include "support/recording_fixture.h"

using namespace stackmap;
using namespace stackmap_test;

namespace {

struct Controlled : ScriptedRecording {
  Controlled() { options.control = tree.path("s"); }

  // Runs `client` beside the recording, and ends that after it. The client's checks are its return value: Catch2's are
  // for one thread.
  Result<RecordingResult> run_with(std::function<std::string()> client) {
    std::thread beside;
    source.on_call = [&](const std::string& call) {
      if (call == "read") {
        beside = std::thread([&] {
          answers = client();
          (void)control_command(options.control, "stop");
        });
      }
    };
    auto result = run();
    beside.join();
    return result;
  }
  std::string ask(const std::string& command) const {
    const auto answer = control_command(options.control, command);
    return answer ? *answer : "error " + answer.error().message();
  }
  // What `stat` says of a key.
  std::string stat(const std::string& key) const {
    const std::string text = ask("stat");
    const size_t at = text.find(key + ": ");
    return at == std::string::npos ? "none" : text.substr(at, text.find('\n', at) - at);
  }

  std::string answers;
};

}  // namespace

TEST_CASE("reset begins a generation: what was sent by then belongs to the one that ends") {
  Controlled recording;
  const auto result = recording.run_with([&] {
    recording.source.record(kFree, kfree(1, 1));
    recording.source.hold(kFree, kfree(2, 2));  // in a batch
    std::string said = recording.ask("reset");
    recording.source.record(kFree, kfree(3, 3));
    said += recording.stat("generation");
    return said + ", " + recording.stat("successes");
  });
  REQUIRE(result);
  CHECK(recording.answers == "generation: 2, successes: 1");
  std::vector<uint32_t> generations;
  const Capture capture = recording.capture();
  REQUIRE(capture.for_each_event([&](const Event& event) {
    generations.push_back(event.stack.cookie.generation());
    return true;
  }));
  CHECK(generations == std::vector<uint32_t>{1, 1, 2});
}

TEST_CASE("off, free and on: events without cookies, no map, and one of the next generation") {
  Controlled recording;
  const auto result = recording.run_with([&] {
    recording.source.record(kFree, kfree(1, 1));
    std::string said = recording.ask("free").starts_with("error ") ? "refused" : "freed while it was on";
    said += recording.ask("off");
    recording.source.record(kFree, kfree(2, 2));
    said += ", " + recording.stat("successes");
    said += recording.ask("free");
    said += ", map '" + recording.ask("map") + "'";
    said += ", " + recording.stat("generation");
    said += recording.ask("on");
    recording.source.record(kFree, kfree(3, 3));
    return said + ", " + recording.stat("generation");
  });
  REQUIRE(result);
  CHECK(recording.answers == "refused, successes: 1, map '', none, generation: 2");
  std::vector<StackRef::State> states;
  const Capture capture = recording.capture();
  REQUIRE(capture.for_each_event([&](const Event& event) {
    states.push_back(event.stack.state);
    return true;
  }));
  using enum StackRef::State;
  CHECK(states == std::vector<StackRef::State>{kCookie, kFallback, kCookie});
  CHECK(result->ledger.get("fallback.off") == 1);
}

TEST_CASE("map gives the stacks of now with their names") {
  Controlled recording;
  REQUIRE(recording.run_with([&] {
    recording.source.record(kFree, kfree(1, 1, {21, 22}));
    recording.source.record(kFree, kfree(2, 2, {21, 22}));
    return recording.ask("map");
  }));
  CHECK(recording.answers.find(" gen 1 ref 2 depth 2\n => f21+0x1/0x10\n => f22+0x1/0x10\n") != std::string::npos);
}

TEST_CASE("snapshot of a plain recording writes what is pending") {
  Controlled recording;
  recording.options.flush_ns = 3600000000000;
  std::string bytes;
  REQUIRE(recording.run_with([&] {
    recording.source.hold(kFree, kfree(1, 9));
    const std::string path = recording.ask("snapshot");
    recording.source.then([&] { bytes = recording.disk->bytes; });  // on the recording's own thread
    const std::string successes = recording.stat("successes");
    return path + successes;
  }));
  CHECK(recording.answers == "memory\nsuccesses: 1");
  const auto so_far = Capture::open(memory_file(bytes, "so far"));
  REQUIRE(so_far);
  CHECK(pointers(*so_far) == std::vector<uint64_t>{9});
}

TEST_CASE("a client waits for the snapshot of a flight recorder") {
  Controlled recording;
  recording.options.segments.emplace();
  recording.options.segments->base = recording.tree.path("w");
  recording.options.flight_bytes = FlightRecorder::kMinBytes;
  const auto result = recording.run_with([&] {
    recording.source.record(kFree, kfree(1, 1));
    return recording.ask("snapshot");
  });
  REQUIRE(result);
  const std::string path = segment_path(recording.options.segments->base, 1);
  CHECK(recording.answers == path + "\nnamed\n");
  REQUIRE(result->snapshots.size() == 2);  // that one, and all at the end
  CHECK(Capture::open(path)->event_count() == 1);
}

TEST_CASE("a second recording of the same socket is refused, and harms nothing") {
  Controlled first;
  REQUIRE(first.run_with([&] {
    ScriptedRecording second;
    second.options.control = first.options.control;
    return second.run().error().message();
  }));
  CHECK(first.answers.find("is already controlled by " + first.options.control) != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(first.options.control));
}
