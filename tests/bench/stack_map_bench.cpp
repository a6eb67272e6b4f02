// SPDX-License-Identifier: Apache-2.0
// What one intern costs, beside std::unordered_map keyed by the whole stack, and what a stored stack costs in memory.
//
// The records are streamed: laid out one after the other, as the ring delivers them, so reading them is part of the
// figure. Depths are 2 to 26, 14 on average; draws are uniform, the worst case for the caches. Arguments: distinct
// stacks; time/intern is that of one thread, items_per_second is of all threads together, and bytes/stack is all memory
// of a map with 16,384 stacks of capacity, or as many as there are. `read_only` reads and hashes without a map.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>

#include "stackmap/stack_map.h"

namespace {

using stackmap::StackMap;
using stackmap::StackMapOptions;

constexpr size_t kBatch = 1024;

// Records as length, frames, length, frames, one run of them a thread.
struct Stream {
  std::vector<uint64_t> words;
  size_t records = 0;

  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (size_t at = 0; at < words.size();) {
      const auto depth = static_cast<size_t>(words[at]);
      visit(std::span<const uint64_t>(&words[at + 1], depth));
      at += depth + 1;
    }
  }
};

std::vector<std::vector<uint64_t>> make_stacks(size_t distinct) {
  std::mt19937_64 random(distinct);
  std::vector<std::vector<uint64_t>> stacks(distinct);
  for (auto& stack : stacks) {
    stack.resize(2 + random() % 25);
    for (auto& frame : stack) {
      frame = 0xffffffff81000000 + random() % 0x1000000;
    }
  }
  return stacks;
}

const Stream& stream_of(size_t distinct, int thread) {
  static std::mutex mutex;
  static std::map<std::pair<size_t, int>, Stream> streams;
  const std::lock_guard lock(mutex);
  Stream& stream = streams[{distinct, thread}];
  if (stream.records == 0) {
    const auto stacks = make_stacks(distinct);
    std::mt19937_64 random(static_cast<uint64_t>(thread) + 1);
    stream.records = 1000000;
    for (size_t i = 0; i < stream.records; ++i) {
      const auto& stack = stacks[random() % distinct];
      stream.words.push_back(stack.size());
      stream.words.insert(stream.words.end(), stack.begin(), stack.end());
    }
  }
  return stream;
}

std::unique_ptr<StackMap> shared_map;

void set_up_map(const benchmark::State& state) {
  const auto distinct = static_cast<size_t>(state.range(0));
  StackMapOptions options;
  options.capacity = static_cast<uint32_t>(distinct < 16384 ? 16384 : distinct);
  options.seed = 1;
  shared_map = std::move(StackMap::create(options)).value();
  auto session = shared_map->pin();
  for (const auto& stack : make_stacks(distinct)) {
    session.intern(stack);
  }
}

void tear_down_map(const benchmark::State&) {
  shared_map.reset();
}

void report(benchmark::State& state, const Stream& stream) {
  const auto interns = static_cast<double>(state.iterations()) * static_cast<double>(stream.records);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(stream.records));
  state.counters["time/intern"] =
      benchmark::Counter(interns, benchmark::Counter::kAvgThreadsRate | benchmark::Counter::kInvert);
}

void intern(benchmark::State& state) {
  const Stream& stream = stream_of(static_cast<size_t>(state.range(0)), state.thread_index());
  for ([[maybe_unused]] auto _ : state) {
    auto session = shared_map->pin();
    size_t in_batch = 0;
    uint64_t sum = 0;
    stream.for_each([&](std::span<const uint64_t> frames) {
      sum += session.intern(frames).cookie.value();
      if (++in_batch == kBatch) {
        session = shared_map->pin();
        in_batch = 0;
      }
    });
    benchmark::DoNotOptimize(sum);
  }
  report(state, stream);
  if (state.thread_index() == 0) {
    // The table and the frames; the counts take 4 bytes more for each session that is open at a time.
    const auto stats = *shared_map->stats();
    state.counters["bytes/stack"] =
        static_cast<double>(stats.table_bytes + stats.arena_bytes) / static_cast<double>(stats.entries);
  }
}

struct VectorHash {
  size_t operator()(const std::vector<uint64_t>& frames) const { return stackmap::fastest_stack_hash()(frames, 1); }
};

void unordered_map(benchmark::State& state) {
  const auto distinct = static_cast<size_t>(state.range(0));
  const Stream& stream = stream_of(distinct, 0);
  std::unordered_map<std::vector<uint64_t>, uint64_t, VectorHash> map;
  for (const auto& stack : make_stacks(distinct)) {
    map.emplace(stack, map.size());
  }
  std::vector<uint64_t> key;
  for ([[maybe_unused]] auto _ : state) {
    uint64_t sum = 0;
    stream.for_each([&](std::span<const uint64_t> frames) {
      key.assign(frames.begin(), frames.end());
      sum += map.try_emplace(key, map.size()).first->second;
    });
    benchmark::DoNotOptimize(sum);
  }
  report(state, stream);
}

void read_only(benchmark::State& state) {
  const Stream& stream = stream_of(static_cast<size_t>(state.range(0)), 0);
  const auto hash = stackmap::fastest_stack_hash();
  for ([[maybe_unused]] auto _ : state) {
    uint64_t sum = 0;
    stream.for_each([&](std::span<const uint64_t> frames) { sum += hash(frames, 1); });
    benchmark::DoNotOptimize(sum);
  }
  report(state, stream);
}

}  // namespace

#define STACKMAP_SIZES Arg(2000)->Arg(16000)->Arg(100000)->Unit(benchmark::kMillisecond)->UseRealTime()
BENCHMARK(intern)->STACKMAP_SIZES->Setup(set_up_map)->Teardown(tear_down_map)->ThreadRange(1, 2);
BENCHMARK(unordered_map)->STACKMAP_SIZES;
BENCHMARK(read_only)->STACKMAP_SIZES;
BENCHMARK_MAIN();
