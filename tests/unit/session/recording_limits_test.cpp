// SPDX-License-Identifier: Apache-2.0
// What a recording does at its ceilings, by a script.
#include <vector>

#include "base/usage.h"
#include "support/recording_fixture.h"

using namespace stackmap;
using namespace stackmap_test;

TEST_CASE("above its ceiling of CPU time a recording has the source count alone, and says so once") {
  ScriptedRecording recording;
  recording.options.max_cpu = 0.000001;  // gone with the first tick
  recording.source.on_call = [&](const std::string& call) {
    if (call == "throttle") {
      recording.interrupt();
    }
  };
  const auto result = recording.run();
  REQUIRE(result);
  CHECK(result->ledger.get("limit.cpu") == 1);
  CHECK(recording.noted("at the ceiling of --max-cpu or --max-memory: events are counted, and not recorded"));
}

TEST_CASE("above its ceiling of memory the map begins a new generation, and then events are throttled") {
  ScriptedRecording recording;
  const uint64_t resident = resident_memory().value();
  recording.options.max_memory = resident + (uint64_t{16} << 20);
  std::vector<char> hog;
  recording.source.record(kFree, kfree(1, 1));
  recording.source.then([&] { hog.assign(size_t{64} << 20, 'x'); });
  recording.source.on_call = [&](const std::string& call) {
    if (call == "throttle") {
      recording.interrupt();
    }
  };
  recording.source.hold(kFree, kfree(2, 2));
  const auto result = recording.run();
  REQUIRE(result);
  CHECK(result->ledger.get("limit.memory") == 1);
  CHECK(recording.noted("more than --max-memory: the map begins a new generation"));
  CHECK(result->ledger.get("map.generation") == 2);
}

TEST_CASE("a recording that takes too much to begin with is refused") {
  ScriptedRecording recording;
  recording.options.max_memory = 1;
  const auto result = recording.run();
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::kUsage);
  CHECK(std::ranges::count(recording.source.calls(), "attach") == 0);
}
