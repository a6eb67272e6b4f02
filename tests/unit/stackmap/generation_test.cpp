// SPDX-License-Identifier: Apache-2.0
#include "stackmap/generation.h"

#include <climits>
#include <map>
#include <set>
#include <vector>

#include "support/catch.h"
#include "support/mapped_memory.h"
#include "unit/stackmap/generation_peer.h"

using stackmap::Cookie;
using stackmap::Fallback;
using stackmap::Generation;
using stackmap::GenerationTestPeer;
using stackmap::Interned;
using stackmap::LookupStatus;
using stackmap::StackMapOptions;

namespace {

using Frames = std::vector<uint64_t>;

// With 16 slots the first slot is the upper four bits of the hash.
uint32_t hash_to_zero(std::span<const uint64_t>, uint32_t) {
  return 0;
}
uint32_t hash_to_slot_5(std::span<const uint64_t>, uint32_t) {
  return 0x50000000;
}
uint32_t hash_to_last_slot(std::span<const uint64_t>, uint32_t) {
  return 0xffffffff;
}
uint32_t hash_of_first_frame(std::span<const uint64_t> frames, uint32_t) {
  return static_cast<uint32_t>(frames[0]);
}

std::unique_ptr<Generation> generation_of(const StackMapOptions& options, uint32_t number = 1) {
  auto generation = std::move(Generation::create(options, number)).value();
  generation->use_lane(0);
  return generation;
}

StackMapOptions with_hash(stackmap::StackHash hash, uint32_t capacity = 8) {
  StackMapOptions options;
  options.capacity = capacity;
  options.hash = hash;
  return options;
}

Interned intern(Generation& generation, const Frames& frames) {
  return generation.intern(frames, 0);
}

Frames resolve(const Generation& generation, Cookie cookie) {
  const auto found = generation.lookup(cookie);
  REQUIRE(found.status == LookupStatus::kFound);
  return {found.record.frames.begin(), found.record.frames.end()};
}

uint32_t ref_of(const Generation& generation, Cookie cookie) {
  return generation.lookup(cookie).record.ref;
}

}  // namespace

TEST_CASE("a stack has one cookie, which is new once and counts its uses") {
  const auto generation = generation_of({}, 7);
  const auto first = intern(*generation, {1, 2, 3});
  const auto again = intern(*generation, {1, 2, 3});
  REQUIRE(first.stored());
  CHECK(first.is_new);
  CHECK_FALSE(again.is_new);
  CHECK(first.cookie == again.cookie);
  CHECK(first.cookie.generation() == 7);
  CHECK(ref_of(*generation, first.cookie) == 2);
  CHECK(resolve(*generation, first.cookie) == Frames{1, 2, 3});
}

TEST_CASE("stacks of one hash are told apart by their frames and their depth") {
  const auto generation = generation_of(with_hash(hash_to_slot_5));
  const std::vector<Frames> stacks = {{1}, {2}, {1, 1}, {1, 0}, {0, 1}, {1, 1, 1}};
  uint32_t slot = 5;
  for (const auto& stack : stacks) {
    const auto interned = intern(*generation, stack);
    CHECK(interned.is_new);
    CHECK(interned.cookie == Cookie(1, slot++));  // linear probing, from slot 5 on
  }
  slot = 5;
  for (const auto& stack : stacks) {
    CHECK(resolve(*generation, Cookie(1, slot++)) == stack);
  }
}

TEST_CASE("probing goes on at slot 0 after the last one, and slot 0 is a slot like any other") {
  const auto generation = generation_of(with_hash(hash_to_last_slot));
  REQUIRE(generation->slot_count() == 16);
  CHECK(intern(*generation, {1}).cookie == Cookie(1, 15));
  CHECK(intern(*generation, {2}).cookie == Cookie(1, 0));
  CHECK(resolve(*generation, Cookie(1, 0)) == Frames{2});
}

TEST_CASE("a hash of zero is not taken for a free slot") {
  const auto generation = generation_of(with_hash(hash_to_zero));
  const auto first = intern(*generation, {1});
  const auto second = intern(*generation, {2});
  REQUIRE(first.stored());
  CHECK(first.cookie == Cookie(1, 0));
  CHECK(second.cookie == Cookie(1, 1));
  CHECK(intern(*generation, {1}).cookie == first.cookie);
  CHECK_FALSE(intern(*generation, {1}).is_new);
  CHECK(generation->stats().entries == 2);
}

TEST_CASE("at most 64 slots are looked at") {
  const auto generation = generation_of(with_hash(hash_to_zero, 100));
  for (uint64_t i = 1; i <= 64; ++i) {
    REQUIRE(intern(*generation, {i}).is_new);
  }
  CHECK(intern(*generation, {65}).fallback == Fallback::kProbes);
  CHECK(generation->stats().entries == 64);
  CHECK(intern(*generation, {64}).cookie == Cookie(1, 63));
}

TEST_CASE("the table has twice the capacity in slots, rounded up to a power of two") {
  const std::map<uint32_t, uint32_t> expected = {{4, 8},       {5, 16},        {16, 32},
                                                 {1000, 2048}, {16384, 32768}, {4194304, 8388608}};
  for (const auto& [capacity, slots] : expected) {
    CHECK(generation_of(with_hash(nullptr, capacity))->slot_count() == slots);
  }
}

TEST_CASE("a full map refuses stacks that it lacks, and still finds those that it has") {
  const auto generation = generation_of(with_hash(nullptr, 4));
  std::map<Frames, Cookie> stored;
  uint64_t full = 0;
  for (uint64_t i = 1; i <= 5000; ++i) {
    const auto interned = intern(*generation, {i, i + 1});
    if (interned.stored()) {
      stored[{i, i + 1}] = interned.cookie;
    } else {
      full += interned.fallback == Fallback::kFull;
    }
  }
  CHECK(stored.size() == 4);
  CHECK(full == 4996);
  CHECK(generation->stats().entries == 4);
  for (const auto& [frames, cookie] : stored) {
    const auto again = intern(*generation, frames);
    CHECK(again.cookie == cookie);
    CHECK_FALSE(again.is_new);
    CHECK(resolve(*generation, cookie) == frames);
  }
}

TEST_CASE("a stack that another thread is publishing is not waited for, nor stored twice") {
  const auto generation = generation_of(with_hash(hash_to_slot_5));
  GenerationTestPeer::set_slot(*generation, 5, 0x50000000, GenerationTestPeer::kPublishing);
  const auto met = intern(*generation, {1});
  CHECK(met.fallback == Fallback::kBeingPublished);
  CHECK(generation->stats().entries == 0);
  // What is not yet stored is not read either.
  CHECK(generation->lookup(Cookie(1, 5)).status == LookupStatus::kUnknown);
  size_t records = 0;
  generation->for_each([&](const auto&) { ++records; });
  CHECK(records == 0);
}

TEST_CASE("a slot of another hash that is being published is passed over") {
  const auto generation = generation_of(with_hash(hash_to_slot_5));
  GenerationTestPeer::set_slot(*generation, 5, 0x50000001, GenerationTestPeer::kPublishing);
  CHECK(intern(*generation, {1}).cookie == Cookie(1, 6));
}

TEST_CASE("a slot that was given up is told by its reason, and hides no stack behind it") {
  // The case that the series admits to missing: claimed, then nothing left to store the stack in.
  const auto [low, reason] = GENERATE(std::pair{GenerationTestPeer::kNoEntry, Fallback::kFull},
                                      std::pair{GenerationTestPeer::kNoRoom, Fallback::kArena});
  const auto generation = generation_of(with_hash(hash_to_slot_5, 64));
  const uint32_t first = 5 * (generation->slot_count() / 16);
  for (uint32_t i = 0; i < 63; ++i) {
    GenerationTestPeer::set_slot(*generation, first + i, 0x50000000, low);
  }
  CHECK(intern(*generation, {1}).cookie == Cookie(1, first + 63));
  CHECK_FALSE(intern(*generation, {1}).is_new);
  CHECK(intern(*generation, {2}).fallback == reason);
  CHECK(generation->lookup(Cookie(1, first)).status == LookupStatus::kUnknown);
}

TEST_CASE("a full arena refuses stacks that it lacks, and still finds those that it has") {
  StackMapOptions options;
  options.arena_limit = 65536;
  const auto generation = generation_of(options);
  uint64_t count = 0;
  Interned last;
  for (;; ++count) {
    Frames frames(99, count + 1);
    last = intern(*generation, frames);
    if (!last.stored()) {
      break;
    }
  }
  CHECK(last.fallback == Fallback::kArena);
  CHECK(count == 81);  // 8,188 words, 100 a stack
  CHECK(generation->stats().entries == 81);
  CHECK(generation->stats().arena_bytes <= 65536);
  CHECK(intern(*generation, Frames(99, 1)).stored());
  CHECK(intern(*generation, Frames(99, 82)).fallback == Fallback::kArena);
  CHECK(intern(*generation, Frames(50, 82)).is_new);  // a shorter one still fits
  CHECK(intern(*generation, Frames(99, 81)).stored());
}

TEST_CASE("a thread that loses the last entry after its claim stores nothing, and the stack is told as full") {
  const auto generation = generation_of(with_hash(hash_of_first_frame));
  for (uint64_t i = 0; i < 8; ++i) {
    REQUIRE(intern(*generation, {i << 28}).stored());
  }
  const Frames late = {uint64_t{12} << 28};
  CHECK(GenerationTestPeer::store(*generation, 12, 12U << 28, late).fallback == Fallback::kFull);
  CHECK(generation->stats().entries == 8);
  CHECK(generation->lookup(Cookie(1, 12)).status == LookupStatus::kUnknown);
  CHECK(intern(*generation, late).fallback == Fallback::kFull);
}

TEST_CASE("a thread that loses the arena's last room after its claim uses up no entry") {
  auto options = with_hash(hash_of_first_frame);
  options.arena_limit = 65536;
  options.max_depth = 1024;
  const auto generation = generation_of(options);
  for (uint64_t i = 0; i < 7; ++i) {
    REQUIRE(intern(*generation, Frames(1024, i << 28)).stored());
  }
  const Frames late(1024, uint64_t{12} << 28);  // 8 x 1,025 words are more than 8,188
  CHECK(GenerationTestPeer::store(*generation, 12, 12U << 28, late).fallback == Fallback::kArena);
  CHECK(generation->stats().entries == 7);
  CHECK(intern(*generation, late).fallback == Fallback::kArena);
  CHECK(intern(*generation, {uint64_t{12} << 28}).cookie == Cookie(1, 13));
}

TEST_CASE("stacks that the arena refuses take no slots") {
  StackMapOptions options;
  options.capacity = 100;
  options.max_depth = 1024;
  options.arena_limit = 65536;
  const auto generation = generation_of(options);
  uint64_t arena = 0;
  for (uint64_t i = 1; i <= 1000; ++i) {
    arena += intern(*generation, Frames(1024, i)).fallback == Fallback::kArena;
  }
  CHECK(arena == 993);  // 7 x 1,025 words fit
  CHECK(intern(*generation, {1}).is_new);
}

TEST_CASE("empty stacks and stacks deeper than the limit are not stored") {
  StackMapOptions options;
  options.max_depth = 3;
  const auto generation = generation_of(options);
  CHECK(intern(*generation, {}).fallback == Fallback::kEmpty);
  CHECK(intern(*generation, {1, 2, 3, 4}).fallback == Fallback::kTooDeep);
  CHECK(intern(*generation, {1, 2, 3}).stored());
  CHECK(generation->stats().entries == 1);
}

TEST_CASE("the ref stays at INT_MAX") {
  const auto generation = generation_of({});
  const uint32_t lane = GENERATE(0U, stackmap::RefLanes::kShared);
  generation->use_lane(lane);
  const Frames frames = {1, 2};
  const Cookie cookie = generation->intern(frames, lane).cookie;
  GenerationTestPeer::set_ref(*generation, lane, 0, INT_MAX - 1);
  CHECK(ref_of(*generation, cookie) == INT_MAX - 1);
  generation->intern(frames, lane);
  CHECK(ref_of(*generation, cookie) == INT_MAX);
  CHECK(generation->intern(frames, lane).cookie == cookie);
  CHECK(ref_of(*generation, cookie) == INT_MAX);
  // Cut off when counted, not only when read: 2^31 interns later it would be 0.
  CHECK(GenerationTestPeer::ref(*generation, lane, 0) == INT_MAX);
  CHECK(generation->count_again(cookie, lane));
  CHECK(GenerationTestPeer::ref(*generation, lane, 0) == INT_MAX);
}

TEST_CASE("a cookie is counted again only where a stack has it") {
  const auto generation = generation_of(with_hash(hash_of_first_frame), 3);
  const Cookie cookie = intern(*generation, {0x20000000}).cookie;
  REQUIRE(cookie == Cookie(3, 2));
  CHECK(generation->count_again(cookie, 0));
  CHECK(generation->count_again(cookie, 1));
  CHECK_FALSE(generation->count_again(Cookie(2, 2), 0));
  CHECK_FALSE(generation->count_again(Cookie(4, 2), 0));
  CHECK_FALSE(generation->count_again(Cookie(3, 1), 0));
  CHECK_FALSE(generation->count_again(Cookie(3, generation->slot_count()), 0));
  CHECK_FALSE(generation->count_again(Cookie(3, UINT32_MAX), 0));
  GenerationTestPeer::set_slot(*generation, 5, 0x50000000, GenerationTestPeer::kPublishing);
  CHECK_FALSE(generation->count_again(Cookie(3, 5), 0));
  generation->use_lane(1);
  CHECK(ref_of(*generation, cookie) == 3);
}

TEST_CASE("the ref of several lanes is their sum, and that stays at INT_MAX too") {
  const auto generation = generation_of({});
  const Cookie cookie = intern(*generation, {1}).cookie;
  GenerationTestPeer::set_ref(*generation, 3, 0, 41);
  CHECK(ref_of(*generation, cookie) == 42);
  for (uint32_t lane = 0; lane < stackmap::RefLanes::kCount; ++lane) {
    GenerationTestPeer::set_ref(*generation, lane, 0, INT_MAX);
  }
  CHECK(ref_of(*generation, cookie) == INT_MAX);
}

TEST_CASE("each stack has its own ref") {
  const auto generation = generation_of(with_hash(nullptr, 1000));
  for (uint64_t stack = 1; stack <= 1000; ++stack) {
    for (uint64_t i = 0; i < stack % 7 + 1; ++i) {
      REQUIRE(intern(*generation, {stack, 9}).stored());
    }
  }
  uint64_t wrong = 0;
  generation->for_each([&](const auto& record) { wrong += record.ref != record.frames[0] % 7 + 1; });
  CHECK(wrong == 0);
}

TEST_CASE("a cookie of another generation is stale, one that nobody has is unknown") {
  const auto generation = generation_of(with_hash(hash_of_first_frame), 3);
  const Cookie cookie = intern(*generation, {0x20000000}).cookie;
  REQUIRE(cookie == Cookie(3, 2));
  CHECK(generation->lookup(cookie).status == LookupStatus::kFound);
  CHECK(generation->lookup(Cookie(2, 2)).status == LookupStatus::kStale);
  CHECK(generation->lookup(Cookie(4, 2)).status == LookupStatus::kStale);
  CHECK(generation->lookup(Cookie()).status == LookupStatus::kStale);
  CHECK(generation->lookup(Cookie(3, 1)).status == LookupStatus::kUnknown);
  CHECK(generation->lookup(Cookie(3, 16)).status == LookupStatus::kUnknown);
  CHECK(generation->lookup(Cookie(3, 0xffffffff)).status == LookupStatus::kUnknown);
}

TEST_CASE("records come in slot order") {
  const auto generation = generation_of(with_hash(hash_of_first_frame));
  for (const uint64_t slot : {9U, 2U, 15U, 4U}) {
    REQUIRE(intern(*generation, {slot << 28}).stored());
  }
  std::vector<uint32_t> slots;
  generation->for_each([&](const auto& record) { slots.push_back(record.slot); });
  CHECK(slots == std::vector<uint32_t>{2, 4, 9, 15});
}

TEST_CASE("the seed moves stacks to other slots") {
  StackMapOptions options;
  std::set<uint32_t> slots;
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    options.seed = seed;
    slots.insert(intern(*generation_of(options), {1, 2, 3}).cookie.slot());
  }
  CHECK(slots.size() > 1);
}

TEST_CASE("memory follows what is stored, below the ceiling") {
  StackMapOptions options;
  options.capacity = 16384;
  options.max_depth = 1024;
  const uint64_t limit = Generation::memory_limit(options);
  const uint64_t before = stackmap_test::mapped_memory();
  auto generation = generation_of(options);
  // The table has 32,768 slots of 8 bytes; a count of 4 bytes for each stack is in 8 lanes.
  const uint64_t empty = 32768 * 8 + 16384 * 4 * 8;
  CHECK(stackmap_test::mapped_since(before) <= empty + stackmap_test::kMappingNoise);
  for (uint64_t i = 1; i <= 8192; ++i) {
    REQUIRE(intern(*generation, Frames(100, i)).stored());
  }
  const uint64_t frames = 8192 * 101 * 8;
  CHECK(stackmap_test::mapped_since(before) >= frames);
  CHECK(stackmap_test::mapped_since(before) <= empty + frames + 2 * 262144 + stackmap_test::kMappingNoise);
  // Deepest stacks until nothing is taken any more: 128 MiB of frames is what the ceiling leaves room for.
  for (uint64_t i = 1; i <= 16384; ++i) {
    intern(*generation, Frames(1024, i));
  }
  const uint64_t full = stackmap_test::mapped_since(before);
  CHECK(full > limit / 2);
  CHECK(full <= limit + stackmap_test::kMappingNoise);
  generation.reset();
  CHECK(stackmap_test::mapped_since(before) <= stackmap_test::kMappingNoise);
}

TEST_CASE("the default arena has room for the capacity of deepest stacks") {
  StackMapOptions options;
  options.capacity = 3000;
  const uint64_t before = stackmap_test::mapped_memory();
  const auto generation = generation_of(options);
  for (uint64_t i = 1; i <= 3000; ++i) {
    REQUIRE(intern(*generation, Frames(127, i)).stored());
  }
  CHECK(stackmap_test::mapped_since(before) <= Generation::memory_limit(options) + stackmap_test::kMappingNoise);
}
