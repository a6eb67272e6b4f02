// SPDX-License-Identifier: Apache-2.0
// Several threads in one recorder: every event is in the capture, in its CPU's order, with its own stack, and in the
// file no block names a stack before the block that has it.
#include <barrier>
#include <random>
#include <thread>

#include "capture/capture.h"
#include "capture/losses.h"
#include "recorder/recorder.h"
#include "support/cache_reader.h"
#include "support/catch.h"
#include "support/faulty_file.h"
#include "support/record_builder.h"

using namespace stackmap;
using stackmap_test::BatchBuilder;
using stackmap_test::CacheReader;
using stackmap_test::Disk;
using stackmap_test::FaultyFile;
using stackmap_test::RecordBuilder;

namespace {

constexpr uint32_t kLanes = 3;
constexpr uint64_t kRounds = 60;
constexpr uint64_t kEvents = 300;  // of a lane in a round

// What a CPU fires as its event `number`: all of it follows from the two.
struct Fired {
  explicit Fired(uint32_t cpu, uint64_t number) : time_ns(number * 10 + cpu + 1) {
    std::mt19937 random(static_cast<uint32_t>(number * kLanes + cpu));
    // New ones all the time, and mostly those that the other CPUs meet at the same time.
    const uint64_t path = random() % 4 == 0 ? number / 8 : random() % 50;
    stack = {0xffffffff81000000 + path * 16, 0xffffffff82000000, path};
    pointer = random();
    tid = 100 + static_cast<uint32_t>(random() % 40);
  }
  RecordBuilder record() const {
    return std::move(
        RecordBuilder(STACKMAP_KFREE).fields(stackmap_free_fields{pointer}).at(time_ns, tid, tid).stack(stack));
  }
  uint64_t time_ns;
  uint64_t pointer;
  uint32_t tid;
  std::vector<uint64_t> stack;
};

struct Chain {
  CacheReader reader{512};
  CookieCache cache{reader.memory(), [this](uint32_t g) { reader.set_generation(g); }};
  std::unique_ptr<StackMap> map = std::move(StackMap::create({})).value();
  std::vector<std::shared_ptr<Disk>> disks;
  std::vector<std::unique_ptr<CaptureWriter>> writers;
  std::unique_ptr<Recorder> recorder;

  Chain() {
    Recorder::Options options;
    options.cache = &cache;
    options.lanes = kLanes;
    recorder = std::make_unique<Recorder>(std::move(options), *map, next_writer());
  }

  CaptureWriter& next_writer() {
    disks.push_back(std::make_shared<Disk>());
    CaptureWriter::Options options;
    options.block_bytes = 2048;
    writers.push_back(std::move(CaptureWriter::create(std::make_unique<FaultyFile>(disks.back()), {},
                                                      Recorder::event_types({}), options))
                          .value());
    return *writers.back();
  }

  // The events of one lane in one round, as its CPU's program sends them.
  void fire(uint32_t cpu, uint64_t first) {
    RecorderLane& lane = recorder->lane(cpu);
    std::optional<BatchBuilder> batch;
    uint32_t thread = 0;
    const auto send = [&] {
      if (batch) {
        lane.on_record(bytes_of(batch->bytes()), cpu);
        batch.reset();
      }
    };
    for (uint64_t number = first; number < first + kEvents; ++number) {
      const Fired fired(cpu, number);
      const uint32_t id = reader.find(stackmap_test::kfree_template(fired.stack));
      if (id == 0) {
        send();
        lane.on_record(bytes_of(fired.record().bytes()), cpu);
        continue;
      }
      if (!batch) {
        batch.emplace(fired.time_ns, fired.tid, fired.tid);
        thread = fired.tid;
      }
      if (thread != fired.tid) {
        batch->thread(thread = fired.tid, fired.tid);
      }
      batch->event(id, static_cast<uint32_t>(fired.time_ns - batch->header.time_ns), {fired.pointer});
    }
    send();
    lane.end_batch();
  }

  // What is done while no lane takes records.
  void between(uint64_t round) {
    const uint64_t begun = cache.begin_round();
    cache.end_round(begun);
    recorder->attended();
    if (round % 20 == 19) {
      REQUIRE(recorder->rotate(next_writer(), {}));
    } else if (round % 3 == 0) {
      REQUIRE(recorder->reset_map());
    } else if (round % 3 == 1) {
      REQUIRE(recorder->flush({}));
    }
  }
};

Capture opened(const std::string& bytes) {
  return std::move(Capture::open(memory_file(bytes, "memory"))).value();
}

// A stack that another lane is storing at that moment is in the event itself.
std::vector<uint64_t> stack_of(const Capture& capture, const Event& event) {
  const auto frames =
      event.stack.state == StackRef::State::kFallback ? event.stack.frames : capture.stack(event.stack.cookie);
  return {frames.begin(), frames.end()};
}

// Cut behind any block of events: what is there resolves.
void check_prefixes(const std::string& bytes) {
  size_t checked = 0;
  for (const BlockInfo& block : opened(bytes).blocks()) {
    if (static_cast<BlockKind>(block.kind) != BlockKind::kEvents || ++checked % 7 != 0) {
      continue;
    }
    const Capture cut = opened(bytes.substr(0, block.offset + block.stored_bytes));
    REQUIRE(cut.for_each_event([&](const Event& event) {
      REQUIRE_FALSE(stack_of(cut, event).empty());
      return true;
    }));
  }
  REQUIRE(checked > 7);
}

}  // namespace

TEST_CASE("lanes on threads of their own: no event is lost, none shows another's stack, and stacks come first") {
  Chain chain;
  uint64_t round = 0;
  std::barrier together(kLanes, [&]() noexcept { chain.between(round++); });
  std::vector<std::thread> threads;
  for (uint32_t cpu = 0; cpu < kLanes; ++cpu) {
    threads.emplace_back([&, cpu] {
      for (uint64_t i = 0; i < kRounds; ++i) {
        chain.fire(cpu, i * kEvents);
        together.arrive_and_wait();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  REQUIRE(chain.recorder->close({}));
  CHECK(chain.recorder->counters().recorded() == kLanes * kRounds * kEvents);
  CHECK(account_of(chain.recorder->ledger({})).lost == 0);
  CHECK(chain.cache.counters().hits > kRounds * kEvents);
  REQUIRE(chain.disks.size() == 1 + kRounds / 20);

  std::array<uint64_t, kLanes> next{};
  for (const auto& disk : chain.disks) {
    const Capture capture = opened(disk->bytes);
    REQUIRE_FALSE(capture.damage().any());
    REQUIRE(capture.for_each_event([&](const Event& event) {
      const Fired fired(event.cpu, next[event.cpu]++);
      REQUIRE(event.time_ns == fired.time_ns);
      REQUIRE(event.tid == fired.tid);
      REQUIRE(event.fields[0] == fired.pointer);
      REQUIRE(stack_of(capture, event) == fired.stack);
      return true;
    }));
    if (capture.event_count() != 0) {
      check_prefixes(disk->bytes);
    }
  }
  CHECK(next == std::array<uint64_t, kLanes>{kRounds * kEvents, kRounds * kEvents, kRounds * kEvents});
}
