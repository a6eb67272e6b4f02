// SPDX-License-Identifier: Apache-2.0
#include "stackmap/frame_arena.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "support/mapped_memory.h"

using stackmap::FrameArena;

namespace {

constexpr uint64_t kKiB = 1024;

FrameArena arena_of(uint64_t limit) {
  return std::move(FrameArena::create(limit)).value();
}

std::vector<uint64_t> frames_of(uint64_t first, size_t depth) {
  std::vector<uint64_t> frames(depth);
  for (size_t i = 0; i < depth; ++i) {
    frames[i] = first + i;
  }
  return frames;
}

std::vector<uint64_t> stored(const FrameArena& arena, uint32_t handle) {
  const auto frames = arena.at(handle).frames;
  return {frames.begin(), frames.end()};
}

}  // namespace

TEST_CASE("what is appended is read back, with its tag") {
  auto arena = arena_of(64 * kKiB);
  const uint32_t a = arena.append(frames_of(100, 3));
  const uint32_t b = arena.append(frames_of(200, 1));
  REQUIRE(a >= FrameArena::kFirstHandle);
  REQUIRE(b != a);
  CHECK(arena.at(b).tag == 0);
  arena.set_tag(b, 77);
  CHECK(stored(arena, a) == std::vector<uint64_t>{100, 101, 102});
  CHECK(stored(arena, b) == std::vector<uint64_t>{200});
  CHECK(arena.at(a).tag == 0);
  CHECK(arena.at(b).tag == 77);
}

TEST_CASE("used bytes are one word a stack and one a frame") {
  auto arena = arena_of(64 * kKiB);
  CHECK(arena.used() == 0);
  arena.append(frames_of(1, 14));
  arena.append(frames_of(1, 1));
  CHECK(arena.used() == (15 + 2) * 8);
}

TEST_CASE("memory is mapped as it is needed, up to the limit, and goes with the arena") {
  const uint64_t before = stackmap_test::mapped_memory();
  {
    constexpr uint64_t kLimit = 64 * 1024 * kKiB + 64 * kKiB;  // not a whole number of chunks
    auto arena = arena_of(kLimit);
    const auto frames = frames_of(1, 127);
    for (const uint64_t part : {0 * kLimit, kLimit / 4, kLimit / 2, kLimit}) {
      while (arena.used() < part && arena.append(frames) != FrameArena::kNoHandle) {
      }
      const uint64_t mapped = stackmap_test::mapped_since(before);
      CHECK(mapped >= arena.used() - std::min(arena.used(), stackmap_test::kMappingNoise));
      CHECK(mapped <= arena.used() + FrameArena::kChunkBytes + stackmap_test::kMappingNoise);
      CHECK(mapped <= kLimit + stackmap_test::kMappingNoise);
    }
    CHECK(arena.used() > kLimit - 128 * 8 - 128 * 8);
  }
  CHECK(stackmap_test::mapped_since(before) <= stackmap_test::kMappingNoise);
}

TEST_CASE("a stored stack never moves and is not overwritten") {
  auto arena = arena_of(4096 * kKiB);
  const auto frames = frames_of(5000, 20);
  const uint32_t handle = arena.append(frames);
  const uint64_t* where = arena.at(handle).frames.data();
  while (arena.append(frames_of(9000, 90)) != FrameArena::kNoHandle) {
  }
  CHECK(arena.at(handle).frames.data() == where);
  CHECK(stored(arena, handle) == frames);
}

TEST_CASE("the limit holds, and a shorter stack still fits in what is left") {
  auto arena = arena_of(64 * kKiB);  // 8,192 words, 4 of them unused
  int count = 0;
  while (arena.append(frames_of(1, 99)) != FrameArena::kNoHandle) {
    ++count;
  }
  CHECK(count == 81);  // 8,188 / 100
  CHECK_FALSE(arena.make_room(99));
  CHECK(arena.make_room(87));  // 88 words are left
  CHECK_FALSE(arena.make_room(88));
  CHECK(arena.append(frames_of(1, 88)) == FrameArena::kNoHandle);
  CHECK(arena.append(frames_of(1, 87)) != FrameArena::kNoHandle);
  CHECK_FALSE(arena.make_room(1));
  CHECK(arena.append(frames_of(1, 1)) == FrameArena::kNoHandle);
}

TEST_CASE("limits are rounded down to 64 KiB and refused out of range") {
  CHECK(arena_of(64 * kKiB + 65535).limit() == 64 * kKiB);
  CHECK(arena_of(300 * kKiB).limit() == 256 * kKiB);
  CHECK_FALSE(FrameArena::create(64 * kKiB - 1).ok());
  CHECK_FALSE(FrameArena::create((uint64_t{32} << 30) + 1).ok());
  CHECK(FrameArena::create(uint64_t{32} << 30).ok());
}

TEST_CASE("the last chunk may be shorter than the others") {
  auto arena = arena_of(320 * kKiB);
  while (arena.append(frames_of(1, 15)) != FrameArena::kNoHandle) {
  }
  // 16 words a stack: 2,047 in the first chunk (beside 4 words), 512 in the 8,192 words of the second.
  CHECK(arena.used() == (32768 - 4 + 512 * 16) * 8);
}

TEST_CASE("limit_for leaves room for the promised number of stacks, however their depths are mixed") {
  std::mt19937 random(1);
  for (const uint32_t depth : {1U, 127U, 1024U}) {
    for (const uint32_t stacks : {4U, 500U, 3000U}) {
      auto arena = arena_of(FrameArena::limit_for(stacks, depth));
      uint32_t done = 0;
      // Mostly deepest stacks, with others between so that the ends of chunks are met in all ways.
      while (done < stacks &&
             arena.append(frames_of(1, random() % 3 == 0 ? 1 + random() % depth : depth)) != FrameArena::kNoHandle) {
        ++done;
      }
      CHECK(done == stacks);
    }
  }
}

TEST_CASE("several threads append without losing or mixing stacks") {
  auto arena = arena_of(8192 * kKiB);
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kStacks = 3000;
  std::vector<std::vector<uint32_t>> handles(kThreads);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < kStacks; ++i) {
        handles[t].push_back(arena.append(frames_of(t * uint64_t{1000000} + i * 100, 1 + i % 60)));
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  std::vector<uint32_t> all;
  for (uint32_t t = 0; t < kThreads; ++t) {
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < kStacks; ++i) {
      wrong += stored(arena, handles[t][i]) != frames_of(t * uint64_t{1000000} + i * 100, 1 + i % 60);
    }
    CHECK(wrong == 0);
    all.insert(all.end(), handles[t].begin(), handles[t].end());
  }
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
}
