// SPDX-License-Identifier: Apache-2.0
// What user space does with a ring record: decoding it alone, and the whole way from the ring's bytes to a capture that
// goes nowhere. The records are kmem_cache_alloc's, 2,000 stacks of 2 to 16 frames, drawn uniformly; deterministic.
#include <benchmark/benchmark.h>

#include <random>

#include "recorder/recorder.h"
#include "support/memory_file.h"
#include "support/record_builder.h"

namespace {

using namespace stackmap;
using stackmap_test::Sink;

constexpr size_t kRecords = 100000;
constexpr uint32_t kCpus = 2;

// A name for every address, at no cost: naming is measured by itself (capture_bench).
class OneName final : public KernelNamer {
 public:
  Result<std::vector<KernelSymbol>> name(std::span<const uint64_t> addresses, AddressKind) override {
    return std::vector<KernelSymbol>(addresses.size(), KernelSymbol{"function", 4, 16, ""});
  }
  std::string source() const override { return "a constant"; }
};

// One after the other, as the ring delivers them.
struct Records {
  std::string bytes;
  std::vector<size_t> ends;

  Records() {
    std::mt19937_64 random(1);
    std::vector<std::vector<uint64_t>> stacks(2000);
    for (auto& stack : stacks) {
      stack.resize(2 + random() % 15);
      for (auto& frame : stack) {
        frame = 0xffffffff81000000 + random() % 0x1000000;
      }
      stack.front() = 0xffffffff81000000 + random() % 4 * 256;  // a tracepoint is called from few places
    }
    for (size_t i = 0; i < kRecords; ++i) {
      const uint32_t tid = 100 + static_cast<uint32_t>(random() % 50);
      stackmap_alloc_fields fields{};
      fields.pointer = 0xffff888000000000 + random() % 0x10000000 * 64;
      fields.bytes_requested = fields.bytes_allocated = 256;
      fields.gfp_flags = 0xcc0;
      fields.node = -1;
      bytes += stackmap_test::RecordBuilder(STACKMAP_KMEM_CACHE_ALLOC)
                   .at(1000000 + i * 1000, tid, tid)
                   .fields(fields)
                   .string(i % 2 == 0 ? "filp" : "seq_file")
                   .stack(stacks[random() % stacks.size()])
                   .bytes();
      ends.push_back(bytes.size());
    }
  }

  template <typename Visit>
  void for_each(Visit&& visit) const {
    size_t at = 0;
    for (const size_t end : ends) {
      visit(std::as_bytes(std::span(bytes).subspan(at, end - at)));
      at = end;
    }
  }
};

const Records& records() {
  static const Records made;
  return made;
}

void decode_record(benchmark::State& state) {
  const Records& all = records();
  RecordDecoder decoder;
  for ([[maybe_unused]] auto _ : state) {
    uint64_t frames = 0;
    all.for_each([&](std::span<const std::byte> bytes) {
      Sample sample;
      if (decoder.decode(bytes, 0, sample)) {
        state.SkipWithError("a record was rejected");
      }
      frames += sample.kernel_stack.frames.size();
    });
    benchmark::DoNotOptimize(frames);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kRecords));
}
BENCHMARK(decode_record)->Unit(benchmark::kMillisecond);

void record_event(benchmark::State& state) {
  const Records& all = records();
  auto map = std::move(StackMap::create({})).value();
  OneName namer;
  auto writer = std::move(CaptureWriter::create(std::make_unique<Sink>(), {}, Recorder::event_types({}), {})).value();
  Recorder::Options options;
  options.namer = &namer;
  Recorder recorder(std::move(options), *map, *writer);
  const auto record_all = [&] {
    uint32_t turn = 0;
    all.for_each([&](std::span<const std::byte> bytes) { recorder.lane(0).on_record(bytes, turn++ % kCpus); });
    recorder.end_batch();
    return recorder.flush({}).ok();
  };
  bool good = record_all();  // the stacks are stored and named: what follows is what goes on for hours
  for ([[maybe_unused]] auto _ : state) {
    good = record_all() && good;
  }
  if (!good) {
    state.SkipWithError("the capture could not be written");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kRecords));
}
BENCHMARK(record_event)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
