// SPDX-License-Identifier: Apache-2.0
// Threads intern while others reset, turn the map off and on, free it and read it. What is checked at the end needs no
// luck with the scheduler; how many collisions of threads there were does.
#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

#include "stackmap/stack_map.h"
#include "support/catch.h"

using stackmap::Cookie;
using stackmap::Fallback;
using stackmap::Generation;
using stackmap::LookupStatus;
using stackmap::OutcomeCounts;
using stackmap::StackMap;
using stackmap::StackMapOptions;

namespace {

// Every word of a stack follows from its number, so that a torn or mixed stack is seen as such.
std::vector<uint64_t> frames_of(uint64_t number) {
  std::vector<uint64_t> frames(1 + number * 7 % 23);
  for (size_t i = 0; i < frames.size(); ++i) {
    frames[i] = 0xffffffff81000000 + number * 64 + i;
  }
  return frames;
}

bool is_whole(std::span<const uint64_t> frames) {
  if (frames.empty() || frames[0] < 0xffffffff81000000) {
    return false;
  }
  const auto expected = frames_of((frames[0] - 0xffffffff81000000) / 64);
  return std::equal(frames.begin(), frames.end(), expected.begin(), expected.end());
}

uint32_t narrow_hash(std::span<const uint64_t> frames, uint32_t seed) {
  return stackmap::portable_stack_hash(frames, seed) & 0xff000000;
}

uint32_t zero_hash(std::span<const uint64_t>, uint32_t) {
  return 0;
}

struct Outcome {
  Cookie cookie;
  uint64_t number;
};

struct Worker {
  std::vector<Outcome> stored;
  OutcomeCounts outcomes{};
  uint64_t news = 0;
  uint64_t faults = 0;  // Catch's own checks are not thread-safe

  template <typename More>
  void run(StackMap& map, uint32_t seed, uint64_t distinct, More more) {
    std::mt19937 random(seed);
    uint32_t last_generation = 0;
    while (more()) {
      auto session = map.pin();
      if (session.generation() != 0) {
        faults += session.generation() < last_generation;
        last_generation = session.generation();
      }
      for (int i = 0; i < 50; ++i) {
        const uint64_t number = random() % distinct;
        const auto result = session.intern(frames_of(number));
        ++outcomes[static_cast<size_t>(result.fallback)];
        news += result.is_new;
        if (result.stored()) {
          faults += result.cookie.generation() != session.generation();
          stored.push_back({result.cookie, number});
          if (number % 3 == 0) {
            faults += !session.hand_out_again(result.cookie);
            ++outcomes[0];
            stored.push_back({result.cookie, number});
          }
        }
      }
    }
  }
};

void read_all(StackMap& map, const std::atomic<bool>& done, uint64_t& faults) {
  while (!done.load(std::memory_order_relaxed)) {
    if (const auto generation = map.snapshot()) {
      generation->for_each([&](const auto& record) { faults += record.ref == 0 || !is_whole(record.frames); });
      const auto stats = generation->stats();
      faults += stats.entries > stats.capacity || stats.generation != generation->number();
      const auto of_map = map.stats();
      faults += of_map && of_map->entries > of_map->capacity;
    }
  }
}

// All generations that a map had, by number.
class Generations {
 public:
  explicit Generations(const StackMap& map) { add(map); }
  // The one that the map has now. By the one thread that changes it, so that none is missed.
  void add(const StackMap& map) {
    if (auto current = map.snapshot()) {
      const auto& known = all_.emplace(current->number(), current).first->second;
      faults_ += known != current;
    }
  }
  const Generation& at(uint32_t number) const { return *all_.at(number); }
  const std::map<uint32_t, std::shared_ptr<const Generation>>& all() const { return all_; }
  uint64_t faults() const { return faults_; }  // numbers that two generations have had

 private:
  std::map<uint32_t, std::shared_ptr<const Generation>> all_;
  uint64_t faults_ = 0;
};

// Resets, and now and then off, free or on; between two of these the workers get through a few sessions.
void control(StackMap& map, Generations& generations, const std::atomic<uint64_t>& sessions) {
  std::mt19937 random(99);
  stackmap::Patience no_patience;
  no_patience.deadline = std::chrono::steady_clock::now();
  for (int step = 0; step < 500; ++step) {
    switch (random() % 12) {
      case 0:
        map.off();
        break;
      case 1:
        map.off();
        (void)map.free(no_patience);
        break;
      case 2:
      case 3:
      case 4:
      case 5:
        (void)map.on();
        break;
      default:
        (void)map.reset();
    }
    generations.add(map);
    const uint64_t before = sessions.load(std::memory_order_relaxed);
    while (sessions.load(std::memory_order_relaxed) < before + 4) {
      std::this_thread::yield();
    }
  }
}

struct Run {
  std::vector<Worker> workers;
  Generations generations;
  uint64_t reader_faults = 0;
};

void check_cookies(const Run& run) {
  const Generations& generations = run.generations;
  uint64_t faults = 0;
  for (const auto& worker : run.workers) {
    faults += worker.faults;
  }
  CHECK(faults == 0);
  CHECK(generations.faults() == 0);
  std::unordered_map<Cookie, uint64_t> stack_of;
  std::map<std::pair<uint32_t, uint64_t>, Cookie> cookie_of;
  std::unordered_map<Cookie, uint64_t> uses;
  uint64_t unresolved = 0;
  uint64_t shared = 0;
  uint64_t twice = 0;
  for (const auto& worker : run.workers) {
    for (const auto& [cookie, number] : worker.stored) {
      const auto found = generations.at(cookie.generation()).lookup(cookie);
      const auto frames = frames_of(number);
      unresolved += found.status != LookupStatus::kFound ||
                    !std::equal(frames.begin(), frames.end(), found.record.frames.begin(), found.record.frames.end());
      shared += stack_of.emplace(cookie, number).first->second != number;
      twice += cookie_of.emplace(std::pair(cookie.generation(), number), cookie).first->second != cookie;
      ++uses[cookie];
    }
  }
  CHECK(unresolved == 0);
  CHECK(shared == 0);
  CHECK(twice == 0);
  uint64_t wrong_refs = 0;
  for (const auto& [cookie, count] : uses) {
    wrong_refs += generations.at(cookie.generation()).lookup(cookie).record.ref != count;
  }
  CHECK(wrong_refs == 0);
  uint64_t wrong_entries = 0;
  for (const auto& [number, generation] : generations.all()) {
    uint64_t records = 0;
    generation->for_each([&](const auto&) { ++records; });
    wrong_entries += records != generation->stats().entries || records > generation->stats().capacity;
  }
  CHECK(wrong_entries == 0);
  CHECK(run.reader_faults == 0);
}

void check_counts(const StackMap& map, const Run& run) {
  OutcomeCounts outcomes{};
  uint64_t news = 0;
  std::unordered_map<Cookie, int> cookies;
  for (const auto& worker : run.workers) {
    news += worker.news;
    for (size_t i = 0; i < outcomes.size(); ++i) {
      outcomes[i] += worker.outcomes[i];
    }
    for (const auto& outcome : worker.stored) {
      cookies[outcome.cookie] = 1;
    }
  }
  CHECK(map.totals() == outcomes);
  CHECK(news == cookies.size());
}

enum class Control : uint8_t { kNone, kAll };

// `batches` sessions a thread, or as many as it takes for control() to end.
Run run(StackMap& map, size_t threads, int batches, uint64_t distinct, Control with = Control::kNone) {
  Run result{.workers = std::vector<Worker>(threads), .generations = Generations(map)};
  std::atomic<bool> workers_done{false};
  std::atomic<bool> control_done{false};
  std::atomic<uint64_t> sessions{0};
  std::thread reader([&] { read_all(map, workers_done, result.reader_faults); });
  std::vector<std::thread> workers;
  for (size_t i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] {
      int left = batches;
      result.workers[i].run(map, static_cast<uint32_t>(i) + 1, distinct, [&] {
        sessions.fetch_add(1, std::memory_order_relaxed);
        if (with == Control::kNone) {
          return left-- > 0;
        }
        std::this_thread::yield();  // keeps the number of interns, and with it the time, small
        return !control_done.load(std::memory_order_relaxed);
      });
    });
  }
  if (with == Control::kAll) {
    control(map, result.generations, sessions);
    control_done.store(true, std::memory_order_relaxed);
  }
  for (auto& worker : workers) {
    worker.join();
  }
  workers_done.store(true, std::memory_order_relaxed);
  reader.join();
  return result;
}

}  // namespace

TEST_CASE("threads that store the same stacks at once agree on their cookies") {
  for (uint32_t round = 1; round <= 20; ++round) {
    StackMapOptions options;
    options.capacity = 1024;
    options.seed = round;
    options.hash = round % 2 == 0 ? narrow_hash : nullptr;
    const auto map = std::move(StackMap::create(options)).value();
    const auto result = run(*map, 4, 20, 600);
    check_cookies(result);
    check_counts(*map, result);
  }
}

TEST_CASE("threads that store stacks of hash zero at once agree on their cookies") {
  for (uint32_t round = 1; round <= 100; ++round) {
    StackMapOptions options;
    options.hash = zero_hash;
    const auto map = std::move(StackMap::create(options)).value();
    const auto result = run(*map, 4, 4, 60);
    check_cookies(result);
    check_counts(*map, result);
  }
}

TEST_CASE("threads that race for the last entries never store more than the capacity") {
  for (uint32_t round = 1; round <= 40; ++round) {
    StackMapOptions options;
    options.capacity = round % 2 == 0 ? 4 : 64;
    options.seed = round;
    const auto map = std::move(StackMap::create(options)).value();
    const auto result = run(*map, 4, 10, 5000);
    check_cookies(result);
    check_counts(*map, result);
    CHECK(map->stats()->entries == options.capacity);
    const auto outcomes = map->totals();
    CHECK(outcomes[static_cast<size_t>(Fallback::kProbes)] == 0);
    CHECK(outcomes[static_cast<size_t>(Fallback::kArena)] == 0);
  }
}

TEST_CASE("threads that race for the arena's last room stay below its limit") {
  for (uint32_t round = 1; round <= 10; ++round) {
    StackMapOptions options;
    options.arena_limit = 65536;
    options.seed = round;
    const auto map = std::move(StackMap::create(options)).value();
    const auto result = run(*map, 4, 20, 5000);
    check_cookies(result);
    check_counts(*map, result);
    CHECK(map->stats()->arena_bytes <= 65536);
    CHECK(map->totals()[static_cast<size_t>(Fallback::kArena)] > 0);
  }
}

TEST_CASE("resets, offs, frees and readers lose no event and mix no generations") {
  StackMapOptions options;
  options.capacity = GENERATE(16U, 4096U);
  const auto map = std::move(StackMap::create(options)).value();
  const auto result = run(*map, 3, 0, 1000, Control::kAll);
  check_cookies(result);
  check_counts(*map, result);
  // That it was not all for nothing: many generations, and many stacks on both sides.
  REQUIRE(map->on().ok());
  CHECK(map->stats()->generation > 100);
  CHECK(map->totals()[0] > 1000);
  CHECK(map->totals()[static_cast<size_t>(Fallback::kOff)] > 1000);
}

TEST_CASE("more threads than lanes count every ref") {
  const auto map = std::move(StackMap::create({})).value();
  const auto result = run(*map, 12, 20, 50);
  check_cookies(result);
  check_counts(*map, result);
}
