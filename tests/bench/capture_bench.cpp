// SPDX-License-Identifier: Apache-2.0
// The capture: encoding events, compressing and writing their block, reading a capture back; and naming frames from
// /proc/kallsyms' text. The events are kmem_cache_alloc's of two CPUs and 1,000 stacks; deterministic, in memory.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <array>
#include <random>

#include "capture/block_writer.h"
#include "capture/capture.h"
#include "capture/capture_writer.h"
#include "capture/event_block.h"
#include "support/memory_file.h"
#include "symbolize/kallsyms.h"

namespace {

using namespace stackmap;

constexpr uint32_t kStacks = 1000;
constexpr uint32_t kBlockEvents = 15000;  // about 256 KiB before compression
constexpr uint64_t kReadEvents = 1000000;

struct MadeUpEvent {
  Event event;
  std::array<uint64_t, 6> fields;
};

std::vector<MadeUpEvent> make_events(uint64_t count) {
  std::mt19937_64 random(1);
  std::vector<MadeUpEvent> events(count);
  for (uint64_t i = 0; i < count; ++i) {
    auto& [event, fields] = events[i];
    event.time_ns = 1000000 + i * 1000 + random() % 500;
    event.cpu = static_cast<uint32_t>(i / 64 % 2);
    event.tid = 100 + event.cpu * 7 + static_cast<uint32_t>(i / 5000);
    event.type = kKmemCacheAlloc;
    event.stack.state = StackRef::State::kCookie;
    event.stack.cookie = Cookie(1, static_cast<uint32_t>(random() % kStacks));
    fields = {0xffff888000000000 + random() % 0x100000 * 256, 0, 256, 256, 0xcc0, ~uint64_t{0}};
    event.fields = fields;
  }
  return events;
}

const std::vector<MadeUpEvent>& block_events() {
  static const std::vector<MadeUpEvent> made = make_events(kBlockEvents);
  return made;
}

void encode_event(benchmark::State& state) {
  const std::vector<MadeUpEvent>& events = block_events();
  EventBlockEncoder encoder;
  std::string payload;
  for ([[maybe_unused]] auto _ : state) {
    for (const MadeUpEvent& made : events) {
      encoder.add(made.event);
    }
    payload.clear();
    encoder.finish(payload);
    benchmark::DoNotOptimize(payload.data());
  }
  state.SetItemsProcessed(state.iterations() * kBlockEvents);
  state.counters["bytes/event"] = static_cast<double>(payload.size()) / kBlockEvents;
}
BENCHMARK(encode_event)->Unit(benchmark::kMillisecond);

// Compressing, checksumming and framing one block of events.
void write_block_event(benchmark::State& state) {
  EventBlockEncoder encoder;
  for (const MadeUpEvent& made : block_events()) {
    encoder.add(made.event);
  }
  std::string payload;
  encoder.finish(payload);
  BlockWriter writer(std::make_unique<stackmap_test::Sink>(), 1, 1);
  for ([[maybe_unused]] auto _ : state) {
    BlockHeader header;
    header.kind = static_cast<uint16_t>(BlockKind::kEvents);
    header.generation = 1;
    header.count = kBlockEvents;
    if (!writer.write(header, payload)) {
      state.SkipWithError("the block could not be written");
    }
  }
  state.SetItemsProcessed(state.iterations() * kBlockEvents);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(payload.size()));
  state.counters["bytes/event"] =
      static_cast<double>(writer.bytes_written()) / static_cast<double>(state.iterations()) / kBlockEvents;
}
BENCHMARK(write_block_event)->Unit(benchmark::kMillisecond);

std::string make_capture() {
  const auto bytes = std::make_shared<std::string>();
  auto writer =
      std::move(CaptureWriter::create(std::make_unique<stackmap_test::MemoryFile>(bytes), {}, known_event_types(), {}))
          .value();
  const uint64_t name = writer->string_id("filp");
  for (uint32_t slot = 0; slot < kStacks; ++slot) {
    std::array<uint64_t, 9> frames{};
    for (uint32_t depth = 0; depth < frames.size(); ++depth) {
      frames[depth] = 0xffffffff81000000 + depth * 0x10000 + slot * 16;
    }
    writer->add_stack(Cookie(1, slot), frames);
  }
  for (MadeUpEvent& made : make_events(kReadEvents)) {
    made.fields[1] = name;
    made.event.fields = made.fields;
    if (!writer->add_event(made.event)) {
      return {};
    }
  }
  return writer->close({}) ? *bytes : std::string();
}

void read_event(benchmark::State& state) {
  const std::string bytes = make_capture();
  for ([[maybe_unused]] auto _ : state) {
    const auto capture = Capture::open(memory_file(bytes, "memory"));
    uint64_t events = 0;
    if (capture) {
      (void)capture->for_each_event([&](const Event& event) {
        events += event.fields.size() / 6;
        return true;
      });
    }
    if (events != kReadEvents) {
      state.SkipWithError("the capture could not be read");
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kReadEvents));
}
BENCHMARK(read_event)->Unit(benchmark::kMillisecond);

// 120,000 functions of 128 bytes, as a distribution's kernel has them.
void name_address(benchmark::State& state) {
  constexpr uint64_t kSymbols = 120000;
  constexpr uint64_t kText = 0xffffffff81000000;
  constexpr uint64_t kEnd = kText + kSymbols * 128;
  std::string text = fmt::format("{:x} T _stext\n", kText);
  for (uint64_t i = 0; i < kSymbols; ++i) {
    text += fmt::format("{:x} t some_kernel_function_{}\n", kText + i * 128, i);
  }
  text += fmt::format("{0:x} T _etext\n{1:x} T _sinittext\n{2:x} T _einittext\n", kEnd, kEnd + 4096, kEnd + 8192);
  const auto kallsyms = Kallsyms::parse(text);
  std::mt19937_64 random(1);
  std::vector<uint64_t> addresses(10000);
  for (uint64_t& address : addresses) {
    address = kText + 1 + random() % (kSymbols * 128 - 1);
  }
  for ([[maybe_unused]] auto _ : state) {
    for (const uint64_t address : addresses) {
      const KernelSymbol symbol = kallsyms->find(address, AddressKind::kReturn);
      if (!symbol.known()) {
        state.SkipWithError("an address has no name");
      }
      benchmark::DoNotOptimize(symbol.offset);
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(addresses.size()));
}
BENCHMARK(name_address)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
