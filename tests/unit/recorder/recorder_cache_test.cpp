// SPDX-License-Identifier: Apache-2.0
// Batches through the recorder, with a model of the programs: what they would send raw and what by id.
#include <map>
#include <optional>
#include <random>

#include "capture/capture.h"
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

struct Chain {
  std::shared_ptr<Disk> disk = std::make_shared<Disk>();
  CacheReader reader{256};
  CookieCache cache{reader.memory(), [this](uint32_t g) { reader.set_generation(g); }};
  std::unique_ptr<StackMap> map;
  std::unique_ptr<CaptureWriter> writer;
  std::unique_ptr<Recorder> recorder;

  explicit Chain(bool cached = true, uint32_t frames_asked = 127) {
    map = std::move(StackMap::create({})).value();
    Recorder::Options options;
    options.any_events.push_back(AnyEvent{{"irq", "one"}, {}});
    options.frames_asked = frames_asked;
    options.cache = cached ? &cache : nullptr;
    writer = std::move(CaptureWriter::create(std::make_unique<FaultyFile>(disk), {},
                                             Recorder::event_types(options.any_events), {}))
                 .value();
    recorder = std::make_unique<Recorder>(std::move(options), *map, *writer);
  }

  void take(const std::string& bytes) { recorder->lane(0).on_record(bytes_of(bytes), 0); }

  // As a program does with this record; what is batched is in `batch` until it is sent.
  void fire(RecordBuilder builder) {
    const std::string bytes = builder.bytes();
    Sample sample;
    RecordDecoder decoder;
    REQUIRE_FALSE(decoder.decode(bytes_of(bytes), 0, sample));
    const auto wanted = template_of(bytes_of(bytes), sample);
    const uint32_t id = wanted ? reader.find(*wanted) : 0;
    if (id == 0) {
      send_batch();
      take(bytes);
      return;
    }
    if (!batch) {
      batch.emplace(sample.time_ns, sample.tid, sample.tgid);
      thread = sample.tid;
    }
    if (thread != sample.tid) {
      batch->thread(sample.tid, sample.tgid);
      thread = sample.tid;
    }
    std::vector<uint64_t> words(record_layout(sample.kind).dynamic_words());
    if (!words.empty()) {
      std::memcpy(words.data(), bytes.data() + sizeof(stackmap_record_header), words.size() * 8);
    }
    batch->event(id, static_cast<uint32_t>(sample.time_ns - batch->header.time_ns), words);
  }
  void send_batch() {
    if (batch) {
      take(std::exchange(batch, std::nullopt)->bytes());
    }
  }
  Capture close() {
    send_batch();
    REQUIRE(recorder->close({}));
    return std::move(Capture::open(memory_file(disk->bytes, "memory"))).value();
  }

  std::optional<BatchBuilder> batch;
  uint32_t thread = 0;
};

RecordBuilder kfree(uint64_t time, std::vector<uint64_t> stack) {
  return std::move(
      RecordBuilder(STACKMAP_KFREE).fields(stackmap_free_fields{time}).at(time, 50, 50).stack(std::move(stack)));
}

// Some event of some kind, thread, size, name and stack.
RecordBuilder some_event(std::mt19937& random, uint64_t time) {
  std::vector<uint64_t> stack(1 + random() % 3, 1000 + random() % 4);
  if (random() % 50 == 0) {
    stack.resize(70, 5);  // too deep for the cache
  }
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  const uint32_t tid = 50 + below(3);
  const auto at = [&](RecordBuilder builder) {
    return std::move(builder.at(time, tid, tid / 2).stack(std::move(stack)));
  };
  switch (random() % 4) {
    case 0:
      return at(RecordBuilder(STACKMAP_KMEM_CACHE_ALLOC)
                    .fields(stackmap_alloc_fields{random(), below(2), 64, 0, -1})
                    .string(random() % 2 != 0 ? "filp" : "dentry"));
    case 1:
      return at(RecordBuilder(STACKMAP_SCHED_SWITCH).fields(stackmap_switch_fields{1, 50 + below(3), 120, 120}));
    case 2:
      return at(RecordBuilder(STACKMAP_ANY).fields(stackmap_any_fields{STACKMAP_FIRST_ANY, 0}));
    default:
      return at(RecordBuilder(STACKMAP_KFREE).fields(stackmap_free_fields{random()}));
  }
}

struct Line {
  uint64_t time_ns;
  uint32_t tid;
  uint16_t type;
  std::vector<uint64_t> fields;
  std::string name;
  std::vector<uint64_t> stack;
  bool operator==(const Line&) const = default;
};

std::vector<Line> lines_of(const Capture& capture) {
  std::vector<Line> lines;
  REQUIRE(capture.for_each_event([&](const Event& event) {
    REQUIRE(event.stack.state == StackRef::State::kCookie);
    const auto stack = capture.stack(event.stack.cookie);
    Line line{event.time_ns,
              event.tid,
              event.type,
              {event.fields.begin(), event.fields.end()},
              {},
              {stack.begin(), stack.end()}};
    if (event.type == kKmemCacheAlloc) {
      line.name = capture.string(line.fields[1]);
      line.fields[1] = 0;  // its number in this capture
    }
    lines.push_back(std::move(line));
    return true;
  }));
  return lines;
}

std::map<std::vector<uint64_t>, uint64_t> refs_of(const Capture& capture) {
  std::map<std::vector<uint64_t>, uint64_t> refs;
  for (const CapturedStack& stack : capture.stacks()) {
    const auto frames = capture.stack(stack.cookie);
    refs[{frames.begin(), frames.end()}] += stack.ref;
  }
  return refs;
}

}  // namespace

TEST_CASE("a capture with the cookie cache is the capture without it, event for event and ref for ref") {
  std::optional<Capture> captures[2];
  for (const bool cached : {false, true}) {
    Chain chain(cached);
    std::mt19937 random(1);
    for (uint64_t i = 0; i < 5000; ++i) {
      chain.fire(some_event(random, i));
      if (i % 97 == 0) {
        chain.send_batch();
        chain.recorder->end_batch();
      }
    }
    captures[cached] = chain.close();
  }
  CHECK(lines_of(*captures[0]) == lines_of(*captures[1]));
  CHECK(refs_of(*captures[0]) == refs_of(*captures[1]));
  const Ledger& with = captures[1]->ledger();
  CHECK(with.get("map.successes") == 5000);
  CHECK(with.get("cache.hits") > 4000);
  CHECK(with.get("cache.published") > 20);
  CHECK(with.get("ring.bytes") < captures[0]->ledger().get("ring.bytes"));
  CHECK_FALSE(captures[0]->ledger().has("cache.hits"));
  CHECK(captures[1]->tasks().name(51, 10).tgid == 25);
}

TEST_CASE("a reset while batches are out: what comes later is of the new generation, with its own stack") {
  Chain chain;
  chain.fire(kfree(1, {1, 2}));
  chain.fire(kfree(2, {1, 2}));
  chain.fire(kfree(3, {1, 2}));
  REQUIRE(chain.batch);
  chain.recorder->end_batch();
  REQUIRE(chain.recorder->reset_map());
  // Programs that begin now do not find the old template.
  CHECK(chain.reader.generation() == 2);
  chain.send_batch();
  chain.fire(kfree(4, {3, 4}));
  chain.fire(kfree(5, {1, 2}));
  chain.fire(kfree(6, {1, 2}));
  CHECK(chain.batch);
  const Capture capture = chain.close();
  std::vector<std::pair<uint64_t, uint32_t>> generations;
  REQUIRE(capture.for_each_event([&](const Event& event) {
    generations.emplace_back(event.time_ns, event.stack.cookie.generation());
    const auto stack = capture.stack(event.stack.cookie);
    REQUIRE(stack.size() == 2);
    CHECK(stack[0] == (event.time_ns == 4 ? 3 : 1));
    return true;
  }));
  CHECK(generations == std::vector<std::pair<uint64_t, uint32_t>>{{1, 1}, {2, 2}, {3, 2}, {4, 2}, {5, 2}, {6, 2}});
  std::map<uint32_t, uint64_t> refs;
  for (const CapturedStack& stack : capture.stacks()) {
    refs[stack.cookie.generation()] += stack.ref;
  }
  CHECK(refs == std::map<uint32_t, uint64_t>{{1, 1}, {2, 5}});
  CHECK(capture.ledger().get("event.kmem:kfree.recorded") == 6);
}

TEST_CASE(
    "batches that come while the map is off, or gone, have their stacks in full, and cookies when it is on again") {
  Chain chain;
  chain.fire(kfree(1, {1, 2}));
  const auto later = [&](uint64_t time) { return BatchBuilder(time, 50, 50).event(1, 0, {time}).bytes(); };
  chain.take(later(2));
  chain.map->off();
  chain.recorder->follow_map();
  CHECK(chain.reader.generation() == 0);
  chain.take(later(3));
  chain.recorder->end_batch();
  REQUIRE(chain.map->on());
  chain.recorder->follow_map();
  CHECK(chain.reader.generation() == 1);
  chain.take(later(4));
  chain.recorder->end_batch();
  chain.map->off();
  REQUIRE(chain.recorder->free_map());
  chain.take(later(5));
  chain.recorder->end_batch();
  REQUIRE(chain.map->on());
  chain.take(later(6));
  const Capture capture = chain.close();
  std::string states;
  REQUIRE(capture.for_each_event([&](const Event& event) {
    const bool fallback = event.stack.state == StackRef::State::kFallback;
    const auto stack = fallback ? event.stack.frames : capture.stack(event.stack.cookie);
    CHECK(std::vector<uint64_t>(stack.begin(), stack.end()) == std::vector<uint64_t>{1, 2});
    states += fallback ? 'f' : static_cast<char>('0' + event.stack.cookie.generation());
    return true;
  }));
  CHECK(states == "11f1f2");
  CHECK(capture.ledger().get("fallback.off") == 2);
}

TEST_CASE("what is counted of a record's stack and string is counted of a batched event's") {
  Chain chain(true, 2);
  const std::string longest(STACKMAP_STRING_SIZE - 1, 'n');
  for (uint64_t i = 0; i < 5; ++i) {
    chain.fire(RecordBuilder(STACKMAP_KMEM_CACHE_ALLOC)
                   .fields(stackmap_alloc_fields{i, 1, 1, 0, -1})
                   .at(i, 50, 50)
                   .string(longest)
                   .stack({1, 2}));
  }
  const Capture capture = chain.close();
  CHECK(capture.ledger().get("cache.hits") == 4);
  CHECK(capture.ledger().get("stack.truncated") == 5);
  CHECK(capture.ledger().get("string.truncated") == 5);
}

TEST_CASE("an event whose template is not known is rejected and counted, and the others of its batch are kept") {
  Chain chain;
  chain.fire(kfree(1, {1}));
  chain.take(BatchBuilder(2, 50, 50).event(1, 0, {0}).event(999, 1, {0}).event(1, 2, {0}).bytes());
  const Capture capture = chain.close();
  CHECK(capture.event_count() == 3);
  CHECK(capture.ledger().get("reject.unknown_template") == 1);
}

TEST_CASE("without the cache every event of a batch is rejected") {
  Chain chain(false);
  chain.take(BatchBuilder(2, 50, 50).event(1, 0, {0}).event(2, 0, {0}).bytes());
  CHECK(chain.close().ledger().get("reject.unknown_template") == 2);
}
