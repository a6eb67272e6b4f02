// SPDX-License-Identifier: Apache-2.0
#include "stackmap/stack_map.h"

#include <cerrno>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "fuzz/stack_map_model.h"
#include "support/catch.h"
#include "support/mapped_memory.h"
#include "unit/stackmap/generation_peer.h"

using stackmap::Cookie;
using stackmap::Fallback;
using stackmap::Generation;
using stackmap::LookupStatus;
using stackmap::Patience;
using stackmap::StackMap;
using stackmap::StackMapOptions;

namespace {

using Frames = std::vector<uint64_t>;

std::unique_ptr<StackMap> map_of(const StackMapOptions& options = {}) {
  return std::move(StackMap::create(options)).value();
}

// Waits that would be for ever are over at once.
Patience none() {
  return {.stop = {}, .deadline = std::chrono::steady_clock::now()};
}
Patience stopped() {
  std::stop_source source;
  source.request_stop();
  return {.stop = source.get_token()};
}

uint64_t sum(const stackmap::OutcomeCounts& outcomes) {
  return std::accumulate(outcomes.begin(), outcomes.end(), uint64_t{0});
}

Cookie intern(StackMap& map, const Frames& frames) {
  return map.pin().intern(frames).cookie;
}

}  // namespace

TEST_CASE("options out of range are refused") {
  const auto refused = [](auto change) {
    StackMapOptions options;
    change(options);
    const auto map = StackMap::create(options);
    return !map.ok() && map.error().kind == stackmap::ErrorKind::kUsage;
  };
  CHECK(refused([](auto& o) { o.capacity = 3; }));
  CHECK(refused([](auto& o) { o.capacity = 4194305; }));
  CHECK(refused([](auto& o) { o.max_depth = 0; }));
  CHECK(refused([](auto& o) { o.max_depth = 1025; }));
  CHECK(refused([](auto& o) { o.arena_limit = 65535; }));
  CHECK(refused([](auto& o) { o.arena_limit = (uint64_t{32} << 30) + 1; }));
  CHECK(refused([](auto& o) { o.first_generation = 0; }));
  CHECK_FALSE(refused([](auto& o) { o.capacity = 4; }));
  CHECK_FALSE(refused([](auto& o) { o.capacity = 4194304; }));
  CHECK_FALSE(refused([](auto& o) { o.max_depth = 1024; }));
}

TEST_CASE("a reset ends the generation, which stays readable, and its cookies are stale in the next") {
  const auto map = map_of();
  const Cookie old = intern(*map, {1, 2});
  CHECK(old.generation() == 1);
  const auto ended = std::move(map->reset()).value();
  REQUIRE(ended != nullptr);
  const Cookie fresh = intern(*map, {1, 2});
  CHECK(fresh.generation() == 2);
  CHECK(ended->lookup(old).status == LookupStatus::kFound);
  CHECK(ended->lookup(fresh).status == LookupStatus::kStale);
  CHECK(map->snapshot()->lookup(old).status == LookupStatus::kStale);
  CHECK(map->snapshot()->lookup(fresh).status == LookupStatus::kFound);
  CHECK(map->stats()->successes() == 1);
  CHECK(map->totals()[0] == 2);
}

TEST_CASE("a session keeps its generation over a reset, later ones have the new one") {
  const auto map = map_of();
  auto before = map->pin();
  const auto ended = std::move(map->reset()).value();
  auto after = map->pin();
  CHECK(before.generation() == 1);
  CHECK(after.generation() == 2);
  const auto late = before.intern(Frames{5});
  CHECK(late.cookie.generation() == 1);
  CHECK(after.intern(Frames{5}).cookie.generation() == 2);
  CHECK(ended->lookup(late.cookie).status == LookupStatus::kFound);
  before.end();
  CHECK(ended->stats().successes() == 1);
}

TEST_CASE("a cookie handed out again counts as an intern of its stack, in its generation and while the map is on") {
  const auto map = map_of();
  const Cookie first = intern(*map, {1, 2});
  {
    auto session = map->pin();
    for (uint32_t i = 0; i < 3 * StackMap::Session::kHandInEvery; ++i) {
      REQUIRE(session.hand_out_again(first));
    }
    CHECK_FALSE(session.hand_out_again(Cookie(1, first.slot() + 1)));
  }
  const uint64_t handed_out = 1 + 3 * StackMap::Session::kHandInEvery;
  CHECK(map->stats()->successes() == handed_out);
  CHECK(map->stats()->fallbacks() == 0);
  CHECK(map->snapshot()->lookup(first).record.ref == handed_out);

  auto before = map->pin();
  const auto ended = std::move(map->reset()).value();
  CHECK(before.hand_out_again(first));
  CHECK_FALSE(map->pin().hand_out_again(first));
  before.end();
  CHECK(ended->lookup(first).record.ref == handed_out + 1);

  const Cookie second = intern(*map, {1, 2});
  map->off();
  CHECK_FALSE(map->pin().hand_out_again(second));
  REQUIRE(map->free(none()));
  CHECK_FALSE(map->pin().hand_out_again(second));
  REQUIRE(map->on());
  CHECK_FALSE(map->pin().hand_out_again(second));
  CHECK(sum(map->totals()) == handed_out + 2);
}

TEST_CASE("an ended generation is there for its sessions and holders, and goes with the last of them") {
  const auto map = map_of();
  const std::weak_ptr<const Generation> watched = map->snapshot();
  auto first = map->pin();
  auto second = map->pin();
  auto ended = std::move(map->reset()).value();
  CHECK(ended == watched.lock());
  ended.reset();
  auto current = map->pin();
  first.end();
  CHECK_FALSE(watched.expired());
  CHECK(second.intern(Frames{1}).cookie.generation() == 1);
  second.end();
  CHECK(watched.expired());
  CHECK(current.generation() == 2);
}

TEST_CASE("the last session of an ended generation may end in another thread, and what it counted is there") {
  const auto map = map_of();
  auto old = map->pin();
  std::thread other([&] {
    while (map->snapshot()->number() == 1) {
      std::this_thread::yield();
    }
    old.intern(Frames{1});
    old.end();
  });
  const auto ended = map->reset();
  other.join();
  REQUIRE(ended.ok());
  CHECK((*ended)->stats().successes() == 1);
  CHECK(ended->use_count() == 1);
}

TEST_CASE("fifteen ended generations can be pinned; then a reset is refused and changes nothing") {
  const auto map = map_of();
  std::vector<StackMap::Session> sessions;
  for (int i = 0; i < 15; ++i) {
    sessions.push_back(map->pin());
    REQUIRE(map->reset().ok());
  }
  sessions.push_back(map->pin());
  const auto refused = map->reset();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().errnum == EBUSY);
  CHECK(map->pin().generation() == 16);
  sessions.erase(sessions.begin());
  CHECK(map->reset().ok());
  CHECK(map->pin().generation() == 17);
}

TEST_CASE("off keeps the map and counts, on goes on with the same generation") {
  const auto map = map_of();
  const Cookie cookie = intern(*map, {1});
  CHECK(map->is_on());
  map->off();
  CHECK_FALSE(map->is_on());
  CHECK(map->pin().intern(Frames{1}).fallback == Fallback::kOff);
  CHECK(map->pin().intern(Frames{}).fallback == Fallback::kOff);
  CHECK(map->snapshot()->lookup(cookie).status == LookupStatus::kFound);
  CHECK(map->stats()->outcomes[static_cast<size_t>(Fallback::kOff)] == 2);
  REQUIRE(map->on().ok());
  CHECK(intern(*map, {1}) == cookie);
}

TEST_CASE("a session keeps what it was pinned with over off and on") {
  const auto map = map_of();
  auto pinned_on = map->pin();
  map->off();
  auto pinned_off = map->pin();
  CHECK(pinned_on.intern(Frames{1}).stored());
  CHECK(pinned_off.intern(Frames{1}).fallback == Fallback::kOff);
  REQUIRE(map->on().ok());
  CHECK(pinned_off.intern(Frames{1}).fallback == Fallback::kOff);
}

TEST_CASE("a reset of a map that is off leaves it off, one of no map does nothing") {
  const auto map = map_of();
  map->off();
  REQUIRE(map->reset().ok());
  CHECK_FALSE(map->is_on());
  CHECK(map->stats()->generation == 2);
  REQUIRE(map->free().ok());
  const auto nothing = map->reset();
  REQUIRE(nothing.ok());
  CHECK(*nothing == nullptr);
  REQUIRE(map->on().ok());
  CHECK(map->pin().generation() == 3);
}

TEST_CASE("free is refused while the map is on, and afterwards there is no map") {
  const auto map = map_of();
  intern(*map, {1});
  const std::weak_ptr<const Generation> watched = map->snapshot();
  const auto refused = map->free();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().errnum == EBUSY);
  map->off();
  REQUIRE(map->free().ok());
  CHECK(map->snapshot() == nullptr);
  CHECK_FALSE(map->stats().has_value());
  CHECK(watched.expired());
  CHECK(map->free().ok());
  auto session = map->pin();
  CHECK(session.generation() == 0);
  CHECK(session.intern(Frames{1}).fallback == Fallback::kOff);
  session.end();
  CHECK(sum(map->totals()) == 2);
  REQUIRE(map->on().ok());
  CHECK(intern(*map, {1}) != Cookie());
  CHECK(map->stats()->generation == 2);
  CHECK(map->stats()->fallbacks() == 0);
}

TEST_CASE("free that is interrupted while it waits for a reader has removed the map") {
  const auto map = map_of();
  const Cookie cookie = intern(*map, {1, 2, 3});
  auto reader = map->snapshot();
  map->off();
  const auto patience = GENERATE(0, 1) == 0 ? none() : stopped();
  const auto waited = map->free(patience);
  REQUIRE_FALSE(waited.ok());
  CHECK(waited.error().errnum == (patience.stop.stop_requested() ? EINTR : ETIMEDOUT));
  CHECK(map->snapshot() == nullptr);
  CHECK(reader->lookup(cookie).status == LookupStatus::kFound);
  const std::weak_ptr<const Generation> watched = reader;
  reader.reset();
  CHECK(watched.expired());
}

TEST_CASE("free waits for an open reader; a new one sees no map meanwhile") {
  const auto map = map_of();
  const Cookie cookie = intern(*map, {1});
  auto reader = map->snapshot();
  map->off();
  bool freed = false;
  std::thread other([&] { freed = map->free().ok(); });
  while (map->snapshot() != nullptr) {
    std::this_thread::yield();
  }
  CHECK(reader->lookup(cookie).status == LookupStatus::kFound);
  const std::weak_ptr<const Generation> watched = reader;
  reader.reset();
  other.join();
  CHECK(freed);
  CHECK(watched.expired());
}

TEST_CASE("free waits for open sessions") {
  const auto map = map_of();
  const std::weak_ptr<const Generation> watched = map->snapshot();
  auto session = map->pin();
  map->off();
  CHECK_FALSE(map->free(none()).ok());
  CHECK_FALSE(watched.expired());
  CHECK(session.intern(Frames{1}).stored());
  session.end();
  CHECK(watched.expired());
}

TEST_CASE("a waiting free is woken by its stop token") {
  const auto map = map_of();
  const auto reader = map->snapshot();
  map->off();
  std::stop_source source;
  int errnum = 0;
  std::thread other([&] { errnum = map->free({.stop = source.get_token()}).error().errnum; });
  while (map->snapshot() != nullptr) {
    std::this_thread::yield();
  }
  source.request_stop();
  other.join();
  CHECK(errnum == EINTR);
}

TEST_CASE("no generation is used twice: after the last one resets are refused") {
  StackMapOptions options;
  options.first_generation = 0xfffffffe;
  const auto map = map_of(options);
  REQUIRE(map->reset().ok());
  const auto refused = map->reset();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().errnum == EOVERFLOW);
  CHECK(intern(*map, {1}).generation() == 0xffffffff);
  map->off();
  REQUIRE(map->free().ok());
  const auto off = map->on();
  REQUIRE_FALSE(off.ok());
  CHECK(off.error().errnum == EOVERFLOW);
  CHECK_FALSE(map->is_on());
  CHECK(map->pin().intern(Frames{1}).fallback == Fallback::kOff);
}

TEST_CASE("a map can start without memory and off") {
  StackMapOptions options;
  options.start_on = false;
  options.capacity = StackMapOptions::kMaxCapacity;  // its table alone has 64 MiB
  const uint64_t before = stackmap_test::mapped_memory();
  const auto map = map_of(options);
  CHECK(stackmap_test::mapped_since(before) <= stackmap_test::kMappingNoise);
  CHECK(map->snapshot() == nullptr);
  REQUIRE(map->on().ok());
  CHECK(stackmap_test::mapped_since(before) >= uint64_t{64} << 20);
  CHECK(map->pin().generation() == 1);
}

TEST_CASE("the ceiling holds for each generation that is alive, and memory goes with the last of them") {
  StackMapOptions options;
  options.capacity = 4096;
  options.max_depth = 1024;
  const uint64_t before = stackmap_test::mapped_memory();
  auto map = map_of(options);
  std::vector<std::shared_ptr<const Generation>> held;
  for (uint64_t generations = 1; generations <= 3; ++generations) {
    auto session = map->pin();
    for (uint64_t i = 1; i <= 2 * options.capacity; ++i) {
      session.intern(Frames(1024, i));
    }
    session.end();
    CHECK(map->stats()->entries == options.capacity);
    const uint64_t mapped = stackmap_test::mapped_since(before);
    CHECK(mapped >= generations * map->stats()->arena_bytes);
    CHECK(mapped <= generations * map->memory_limit() + stackmap_test::kMappingNoise);
    held.push_back(std::move(map->reset()).value());
  }
  held.clear();
  CHECK(stackmap_test::mapped_since(before) <= map->memory_limit() + stackmap_test::kMappingNoise);
  map.reset();
  CHECK(stackmap_test::mapped_since(before) <= stackmap_test::kMappingNoise);
}

TEST_CASE("a snapshot outlives its map") {
  auto map = map_of();
  const Cookie cookie = intern(*map, {1, 2});
  const auto snapshot = map->snapshot();
  map.reset();
  CHECK(snapshot->lookup(cookie).record.frames.size() == 2);
}

TEST_CASE("the stat text begins with the kernel's five keys") {
  StackMapOptions options;
  options.capacity = 16;
  options.max_depth = 7;
  options.arena_limit = 65536;
  const auto map = map_of(options);
  intern(*map, {1, 2});
  intern(*map, {1, 2});
  intern(*map, {});
  intern(*map, {1, 2, 3, 4, 5, 6, 7, 8});
  intern(*map, {1, 2, 3, 4, 5, 6, 7, 8});
  std::string text;
  for_each_stat(*map->stats(), [&](std::string_view key, uint64_t value) {
    text += std::string(key) + ": " + std::to_string(value) + "\n";
  });
  CHECK(text ==
        "generation: 1\nentries: 1\ncapacity: 16\nsuccesses: 2\nfallbacks: 3\n"
        "fallbacks_full: 0\nfallbacks_probes: 0\nfallbacks_arena: 0\nfallbacks_being_published: 0\n"
        "fallbacks_too_deep: 2\nfallbacks_off: 0\nfallbacks_empty: 1\n"
        "max_depth: 7\narena_bytes: 24\narena_limit: 65536\ntable_bytes: 256\n");
}

TEST_CASE("counters are handed in at the end of a session, and at the latest every 1,024 interns") {
  const auto map = map_of();
  auto session = map->pin();
  for (int i = 0; i < 1023; ++i) {
    session.intern(Frames{1});
  }
  CHECK(map->stats()->successes() == 0);
  session.intern(Frames{1});
  CHECK(map->stats()->successes() == 1024);
  session.intern(Frames{1});
  CHECK(map->totals()[0] == 1024);
  session.end();
  session.end();
  CHECK(map->stats()->successes() == 1025);
  CHECK(map->totals()[0] == 1025);
}

TEST_CASE("a moved session is one session") {
  const auto map = map_of();
  auto first = map->pin();
  first.intern(Frames{1});
  auto second = std::move(first);
  second.intern(Frames{1});
  auto third = map->pin();
  third.intern(Frames{2});
  third = std::move(second);
  third.intern(Frames{1});
  third.end();
  CHECK(map->totals()[0] == 4);
  const std::weak_ptr<const Generation> watched = map->snapshot();
  REQUIRE(map->reset().ok());
  CHECK(watched.expired());
}

TEST_CASE("the ref is exact with more sessions than lanes") {
  const auto map = map_of();
  std::vector<StackMap::Session> sessions;
  Cookie cookie;
  for (int i = 0; i < 20; ++i) {
    sessions.push_back(map->pin());
    cookie = sessions.back().intern(Frames{1, 2}).cookie;
  }
  CHECK(map->snapshot()->lookup(cookie).record.ref == 20);
  sessions.clear();
  CHECK(map->stats()->successes() == 20);
}

TEST_CASE("open sessions have a lane each, and from the eighth on share one") {
  const auto map = map_of();
  const auto lanes_used = [&] { return stackmap::GenerationTestPeer::lanes_used(*map->snapshot()); };
  std::vector<StackMap::Session> sessions;
  for (int i = 1; i <= 8; ++i) {
    sessions.push_back(map->pin());
    CHECK(lanes_used() == i);
  }
  sessions.push_back(map->pin());
  sessions.erase(sessions.begin());
  sessions.push_back(map->pin());
  CHECK(lanes_used() == 8);
}

namespace {

uint32_t hash_of_little(std::span<const uint64_t> frames, uint32_t) {
  return static_cast<uint32_t>(frames[0] % 3) << 31;
}

void drive(const StackMapOptions& options, stackmap_test::ModelDriver::Allowed allowed, uint32_t seed) {
  std::mt19937 random(seed);
  stackmap_test::ModelDriver driver(options, allowed);
  const uint64_t alphabet = 2 + random() % 30;
  for (int i = 0; i < 6000; ++i) {
    const auto dice = random() % 1000;
    if (dice < 4) {
      driver.reset();
    } else if (dice < 8) {
      driver.off();
    } else if (dice < 20) {
      driver.on();
    } else if (dice < 24) {
      driver.free();
    } else if (dice < 60) {
      driver.lookup({static_cast<uint32_t>(random() % (driver.generation() + 2)),
                     static_cast<uint32_t>(random() % (4 * options.capacity))});
    } else if (dice < 70) {
      driver.check();
    } else {
      Frames frames(random() % (options.max_depth + 2));
      for (auto& frame : frames) {
        frame = random() % alphabet;
      }
      driver.intern(frames);
    }
  }
  driver.check();
}

}  // namespace

TEST_CASE("the map does what a naive model does") {
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    StackMapOptions options;
    options.seed = seed;
    options.max_depth = 1 + seed % 6;
    SECTION("tiny, seed " + std::to_string(seed)) {
      options.capacity = 4;
      drive(options, {}, seed);
    }
    SECTION("large, seed " + std::to_string(seed)) {
      options.capacity = 16384;
      drive(options, {}, seed);
    }
    SECTION("hashes that collide, seed " + std::to_string(seed)) {
      options.capacity = 500;
      options.hash = hash_of_little;
      drive(options, {.probes = true, .arena = false}, seed);
    }
    SECTION("little arena, seed " + std::to_string(seed)) {
      options.capacity = 5000;
      options.arena_limit = 65536;
      options.max_depth = 127;
      drive(options, {.probes = false, .arena = true}, seed);
    }
  }
}
