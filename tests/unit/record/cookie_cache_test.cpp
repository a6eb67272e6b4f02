// SPDX-License-Identifier: Apache-2.0
#include "record/cookie_cache.h"

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "support/cache_reader.h"
#include "support/catch.h"

using namespace stackmap;
using stackmap_test::CacheReader;
using stackmap_test::kfree_template;

namespace {

uint64_t same_hash(const SampleTemplate&) {
  return 6;
}

struct Cache {
  CacheReader reader;
  CookieCache cache;

  explicit Cache(size_t entries = 8, CookieCache::Options options = {})
      : reader(entries),
        cache(
            reader.memory(), [this](uint32_t g) { reader.set_generation(g); }, options) {
    cache.set_generation(1);
  }
  // All that is known of an id, from the frames of its template.
  std::vector<uint64_t> frames(uint32_t id) {
    const CachedTemplate* found = cache.find(id);
    return found == nullptr ? std::vector<uint64_t>{}
                            : std::vector<uint64_t>(found->frames.begin(), found->frames.end());
  }
};

}  // namespace

TEST_CASE("a program finds a template once it was offered, and its id leads back to it") {
  Cache c;
  const std::vector<uint64_t> stack = {1, 2, 3};
  CHECK(c.reader.find(kfree_template(stack)) == 0);
  c.cache.offer(kfree_template(stack), Cookie(1, 77));
  const uint32_t id = c.reader.find(kfree_template(stack));
  REQUIRE(id == 1);
  CHECK(c.frames(id) == stack);
  CHECK(c.cache.find(id)->cookie == Cookie(1, 77));
  CHECK(c.cache.find(2) == nullptr);
  CHECK(c.cache.find(0) == nullptr);
  CHECK(c.cache.find(UINT32_MAX) == nullptr);
  // Records that were on their way come later, and change nothing.
  c.cache.offer(kfree_template(stack), Cookie(1, 77));
  CHECK(c.cache.counters().published == 1);
  CHECK(c.reader.find(kfree_template(stack)) == id);
}

TEST_CASE("every word counts: a template that differs in one is another") {
  Cache c(8, {.hash = same_hash});
  const std::vector<uint64_t> stack = {1, 2, 3};
  SampleTemplate base = kfree_template(stack);
  base.shape = stackmap_cache_shape(STACKMAP_KMEM_CACHE_ALLOC, 16, 24);
  base.fields = {5, 6};
  base.string = {7, 8};
  c.cache.offer(base, Cookie(1, 1));
  REQUIRE(c.reader.find(base, same_hash) == 1);
  const auto other = [&](const auto& change) {
    SampleTemplate changed = base;
    change(changed);
    return c.reader.find(changed, same_hash);
  };
  CHECK(other([](auto& t) { t.fields[0] ^= 1; }) == 0);
  CHECK(other([](auto& t) { t.fields[1] ^= uint64_t{1} << 63; }) == 0);
  CHECK(other([](auto& t) { t.string[1] ^= 1; }) == 0);
  CHECK(other([](auto& t) { t.shape ^= 1; }) == 0);
  for (size_t i = 0; i < stack.size(); ++i) {
    std::vector<uint64_t> frames = stack;
    frames[i] ^= 1;
    CHECK(other([&](auto& t) { t.frames = frames; }) == 0);
  }
  // Words behind the ends of string and stack are undefined in both.
  CHECK(other([](auto& t) { t.string[2] = 99; }) == 1);
}

TEST_CASE("templates whose hashes all collide stay apart") {
  Cache c(8, {.hash = same_hash});
  std::vector<std::vector<uint64_t>> stacks;
  for (uint64_t i = 0; i < 5; ++i) {
    stacks.push_back({100 + i, 200});
  }
  std::mt19937 random(1);
  std::map<uint32_t, size_t> of_id;
  for (int i = 0; i < 5000; ++i) {
    const size_t n = random() % stacks.size();
    const uint32_t id = c.reader.find(kfree_template(stacks[n]), same_hash);
    if (id == 0) {
      c.cache.offer(kfree_template(stacks[n]), Cookie(1, static_cast<uint32_t>(n)));
      continue;
    }
    REQUIRE(c.frames(id) == stacks[n]);
    REQUIRE(c.cache.find(id)->cookie.slot() == n);
    const auto [known, is_new] = of_id.emplace(id, n);
    REQUIRE(known->second == n);
    if (i % 50 == 0) {
      c.cache.end_round(c.cache.begin_round());
    }
  }
  CHECK(of_id.size() > 5);
  CHECK(c.cache.counters().replaced > 0);
}

TEST_CASE("two templates in both places are replaced only now and then, and the one that is used less") {
  Cache c(8, {.hash = same_hash});
  const std::vector<uint64_t> hot = {1};
  const std::vector<uint64_t> cold = {2};
  const std::vector<uint64_t> third = {3};
  c.cache.offer(kfree_template(cold), Cookie(1, 2));
  c.cache.offer(kfree_template(hot), Cookie(1, 1));
  const uint32_t hot_id = c.reader.find(kfree_template(hot), same_hash);
  REQUIRE(c.cache.find(hot_id) != nullptr);
  for (uint32_t i = 1; i < CookieCache::kReplaceEvery; ++i) {
    c.cache.offer(kfree_template(third), Cookie(1, 3));
  }
  CHECK(c.cache.counters().replaced == 0);
  CHECK(c.reader.find(kfree_template(third), same_hash) == 0);
  c.cache.offer(kfree_template(third), Cookie(1, 3));
  CHECK(c.cache.counters().replaced == 1);
  CHECK(c.reader.find(kfree_template(third), same_hash) == 3);
  CHECK(c.reader.find(kfree_template(hot), same_hash) == hot_id);
  CHECK(c.reader.find(kfree_template(cold), same_hash) == 0);
}

TEST_CASE("a replaced template is known until a round has passed that began after it") {
  Cache c(8, {.hash = same_hash});
  const std::vector<std::vector<uint64_t>> stacks = {{1}, {2}, {3}};
  c.cache.offer(kfree_template(stacks[0]), Cookie(1, 0));
  c.cache.offer(kfree_template(stacks[1]), Cookie(1, 1));
  const uint64_t too_early = c.cache.begin_round();
  for (uint32_t i = 0; i < CookieCache::kReplaceEvery; ++i) {
    c.cache.offer(kfree_template(stacks[2]), Cookie(1, 2));
  }
  const uint32_t gone = c.reader.find(kfree_template(stacks[0]), same_hash) == 0 ? 1 : 2;
  CHECK(c.cache.waiting() == 1);
  c.cache.end_round(too_early);
  CHECK(c.frames(gone) == stacks[gone - 1]);
  const uint64_t round = c.cache.begin_round();
  CHECK(c.frames(gone) == stacks[gone - 1]);
  c.cache.end_round(round);
  CHECK(c.cache.find(gone) == nullptr);
  CHECK(c.cache.waiting() == 0);
  CHECK(c.frames(3) == stacks[2]);
}

TEST_CASE("programs do not find what was published for an ended generation, and its ids lead to it for a while") {
  Cache c;
  const std::vector<uint64_t> stack = {1, 2};
  c.cache.offer(kfree_template(stack), Cookie(1, 5));
  REQUIRE(c.reader.find(kfree_template(stack)) == 1);
  c.cache.set_generation(2);
  CHECK(c.reader.find(kfree_template(stack)) == 0);
  REQUIRE(c.cache.find(1) != nullptr);
  CHECK(c.cache.find(1)->cookie == Cookie(1, 5));
  c.cache.offer(kfree_template(stack), Cookie(1, 5));  // of a session that was pinned before the reset
  CHECK(c.reader.find(kfree_template(stack)) == 0);
  c.cache.offer(kfree_template(stack), Cookie(2, 9));
  CHECK(c.reader.find(kfree_template(stack)) == 2);
  CHECK(c.cache.find(1)->cookie == Cookie(1, 5));
  CHECK(c.cache.find(2)->cookie == Cookie(2, 9));
  c.cache.end_round(c.cache.begin_round());
  CHECK(c.cache.find(1) == nullptr);
  CHECK(c.cache.find(2) != nullptr);
}

TEST_CASE("off and on again: the same generation goes on with its templates") {
  Cache c;
  const std::vector<uint64_t> stack = {1, 2};
  c.cache.offer(kfree_template(stack), Cookie(1, 5));
  c.cache.set_generation(0);
  CHECK(c.reader.generation() == 0);
  CHECK(c.reader.find(kfree_template(stack)) == 0);
  c.cache.offer(kfree_template(stack), Cookie(1, 5));
  c.cache.end_round(c.cache.begin_round());
  c.cache.set_generation(1);
  CHECK(c.reader.find(kfree_template(stack)) == 1);
  CHECK(c.frames(1) == stack);
  c.cache.set_generation(0);
  c.cache.set_generation(2);
  CHECK(c.reader.find(kfree_template(stack)) == 0);
  CHECK(c.cache.waiting() == 1);
}

TEST_CASE("what waits for a round is bounded: nothing is published while that is reached") {
  Cache c(8);
  std::vector<std::vector<uint64_t>> stacks;
  for (uint64_t i = 0; i < 10000; ++i) {
    stacks.push_back({i, i * i});
  }
  for (const auto& stack : stacks) {
    c.cache.offer(kfree_template(stack), Cookie(1, 1));
  }
  CHECK(c.cache.wants_round());
  CHECK(c.cache.waiting() == 8);
  const uint64_t published = c.cache.counters().published;
  CHECK(published == 16);
  CHECK(c.cache.counters().refused > 0);
  for (uint32_t generation = 2; generation < 100; ++generation) {
    c.cache.set_generation(generation);
    c.cache.offer(kfree_template(stacks[0]), Cookie(generation, 1));
  }
  CHECK(c.cache.waiting() == 16);
  CHECK(c.cache.counters().published == published);
  for (uint32_t id = 1; id <= published; ++id) {
    CHECK(c.cache.find(id) != nullptr);
  }
  c.cache.end_round(c.cache.begin_round());
  CHECK_FALSE(c.cache.wants_round());
  c.cache.offer(kfree_template(stacks[0]), Cookie(99, 1));
  CHECK(c.reader.find(kfree_template(stacks[0])) != 0);
}

TEST_CASE("the last id is used, and then nothing is published any more") {
  Cache c(1024, {.first_id = CookieCache::kLastId - 1});  // so large that all find a free place
  for (uint64_t frame = 1; frame <= 4; ++frame) {
    const std::vector<uint64_t> stack = {frame};
    c.cache.offer(kfree_template(stack), Cookie(1, 1));
  }
  CHECK(c.cache.counters().published == 2);
  CHECK(c.cache.counters().refused == 2);
  CHECK(c.cache.find(CookieCache::kLastId) != nullptr);
  CHECK(c.cache.find(STACKMAP_BATCH_THREAD) == nullptr);
}

TEST_CASE("ids that are still in use are passed over") {
  Cache c(2);
  const std::vector<uint64_t> keeper = {1};
  c.cache.offer(kfree_template(keeper), Cookie(1, 1));
  const uint32_t kept = c.reader.find(kfree_template(keeper));
  for (uint64_t i = 2; i < 2000; ++i) {
    const std::vector<uint64_t> stack = {i};
    (void)c.cache.find(kept);
    c.cache.offer(kfree_template(stack), Cookie(1, 1));
    c.cache.end_round(c.cache.begin_round());
  }
  CHECK(c.cache.counters().published > 100);
  CHECK(c.frames(kept) == keeper);
  CHECK(c.reader.find(kfree_template(keeper)) == kept);
}

TEST_CASE("a program that reads while an entry is written finds the whole template or none") {
  Cache c(2, {.hash = same_hash});
  std::vector<std::vector<uint64_t>> stacks;
  for (uint64_t i = 0; i < 3; ++i) {
    stacks.push_back(std::vector<uint64_t>(STACKMAP_CACHE_FRAMES, i));
  }
  // By id, the stack that it was for, plus one: as the program saw it, and as it was published.
  std::vector<uint8_t> seen(1000000);
  std::vector<uint8_t> published(1000000);
  std::atomic<bool> done{false};
  std::atomic<uint64_t> found{0};
  uint64_t faults = 0;
  const auto saw = [&](uint32_t id, uint64_t n) {
    faults += seen[id] != 0 && seen[id] != n + 1;
    seen[id] = static_cast<uint8_t>(n + 1);
  };
  std::thread program([&] {
    for (size_t i = 0; !done.load(std::memory_order_relaxed); ++i) {
      // A single word between two reads of the id, which is torn far more easily than a whole template.
      const stackmap_cache_entry& entry = c.reader.entries()[i % 2];
      const uint32_t before = STACKMAP_READ(entry.id);
      const uint64_t word = STACKMAP_READ(entry.frames[i / 2 % STACKMAP_CACHE_FRAMES]);
      if (before != 0 && STACKMAP_READ(entry.id) == before) {
        saw(before, word);
      }
      if (i % 16 != 0) {
        continue;
      }
      for (size_t n = 0; n < stacks.size(); ++n) {
        const uint32_t id = c.reader.find(kfree_template(stacks[n]), same_hash);
        if (id != 0) {
          saw(id, n);
          found.fetch_add(1, std::memory_order_relaxed);
        }
      }
    }
  });
  for (size_t i = 0; c.cache.counters().published < 10000 || found < 1000; ++i) {
    const size_t n = i / 20 % stacks.size();
    c.cache.offer(kfree_template(stacks[n]), Cookie(1, 1));
    published[c.reader.find(kfree_template(stacks[n]), same_hash)] = static_cast<uint8_t>(n + 1);
    c.cache.end_round(c.cache.begin_round());
  }
  done = true;
  program.join();
  for (size_t id = 1; id < seen.size(); ++id) {
    faults += seen[id] != 0 && seen[id] != published[id];
  }
  CHECK(faults == 0);
}
