// SPDX-License-Identifier: Apache-2.0
// The chain from ring bytes to a capture that is read back, without a kernel.
#include "recorder/recorder.h"

#include <map>

#include "capture/capture.h"
#include "support/catch.h"
#include "support/faulty_file.h"
#include "support/number_namer.h"
#include "support/record_builder.h"

using namespace stackmap;
using stackmap_test::Disk;
using stackmap_test::FaultyFile;
using stackmap_test::NumberNamer;
using stackmap_test::RecordBuilder;

namespace {

struct Chain {
  std::shared_ptr<Disk> disk = std::make_shared<Disk>();
  NumberNamer namer;
  std::unique_ptr<StackMap> map;
  std::unique_ptr<CaptureWriter> writer;
  std::unique_ptr<Recorder> recorder;

  explicit Chain(uint32_t capacity = 64, size_t block_bytes = 4096) {
    StackMapOptions map_options;
    map_options.capacity = capacity;
    map = std::move(StackMap::create(map_options)).value();
    Recorder::Options options;
    options.any_events.push_back(AnyEvent{{"irq", "one"}, {}});
    options.any_events.push_back(AnyEvent{{"irq", "two"}, {}});
    options.any_events.push_back(
        {{"irq", "three"}, {{{"who", FieldFormat::kTid}, 8, 4, true}, {{"n", FieldFormat::kSigned}, 12, 4, true}}});
    options.frames_asked = 127;
    options.namer = &namer;
    options.find_task = [](uint32_t tid, uint64_t) -> Result<TaskRecord> {
      if (tid == 50) {
        return TaskRecord{0, TaskChange::kSeen, 50, 49, 1, "from proc"};
      }
      return make_error(ErrorKind::kNotFound, "gone");
    };
    CaptureWriter::Options writer_options;
    writer_options.block_bytes = block_bytes;
    writer = std::move(CaptureWriter::create(std::make_unique<FaultyFile>(disk), {},
                                             Recorder::event_types(options.any_events), writer_options))
                 .value();
    recorder = std::make_unique<Recorder>(std::move(options), *map, *writer);
  }

  void record(RecordBuilder builder, uint32_t cpu = 0) { recorder->lane(0).on_record(bytes_of(builder.bytes()), cpu); }
  void kfree(uint64_t time, uint32_t tid, std::vector<uint64_t> stack, uint64_t pointer = 64) {
    record(
        RecordBuilder(STACKMAP_KFREE).fields(stackmap_free_fields{pointer}).at(time, tid, tid).stack(std::move(stack)));
  }
  Capture close() {
    REQUIRE(recorder->close({}));
    return std::move(Capture::open(memory_file(disk->bytes, "memory"))).value();
  }
};

stackmap_task_fields task(uint32_t tid, uint32_t tgid, uint32_t old_tid, const char* comm) {
  stackmap_task_fields fields{tid, tgid, old_tid, 120, {}};
  std::strncpy(fields.comm, comm, sizeof(fields.comm) - 1);
  return fields;
}

}  // namespace

TEST_CASE("equal stacks get equal cookies, others other ones, and all resolve with names") {
  Chain chain;
  std::map<std::vector<uint64_t>, uint64_t> expected;
  for (uint64_t i = 0; i < 300; ++i) {
    const std::vector<uint64_t> stack = {1000 + i % 7, 2000 + i % 3, 3000};
    ++expected[stack];
    chain.kfree(i, 50, stack, i);
  }
  const Capture capture = chain.close();
  std::map<std::vector<uint64_t>, uint64_t> counted;
  uint64_t n = 0;
  REQUIRE(capture.for_each_event([&](const Event& event) {
    REQUIRE(event.stack.state == StackRef::State::kCookie);
    REQUIRE(event.fields[0] == n++);
    const auto stack = capture.stack(event.stack.cookie);
    ++counted[{stack.begin(), stack.end()}];
    return true;
  }));
  CHECK(counted == expected);
  CHECK(capture.stacks().size() == 21);
  CHECK(capture.symbol_text(1003) == "f1003+0x1/0x10");
  uint64_t refs = 0;
  for (const CapturedStack& stack : capture.stacks()) {
    refs += stack.ref;
  }
  CHECK(refs == 300);
  CHECK(capture.ledger().get("map.successes") == 300);
  CHECK(capture.ledger().get("event.kmem:kfree.recorded") == 300);
}

TEST_CASE("a map that is too small loses nothing: totals are exact, every stack is there") {
  Chain chain(4);
  std::map<std::vector<uint64_t>, uint64_t> expected;
  for (uint64_t i = 0; i < 9000; ++i) {
    const std::vector<uint64_t> stack = {1 + i % 3000, 7777};
    ++expected[stack];
    chain.kfree(i, 50, stack);
  }
  const Capture capture = chain.close();
  std::map<std::vector<uint64_t>, uint64_t> counted;
  uint64_t fallbacks = 0;
  REQUIRE(capture.for_each_event([&](const Event& event) {
    const bool fallback = event.stack.state == StackRef::State::kFallback;
    fallbacks += fallback ? 1 : 0;
    const auto stack = fallback ? event.stack.frames : capture.stack(event.stack.cookie);
    ++counted[{stack.begin(), stack.end()}];
    return true;
  }));
  CHECK(counted == expected);
  // 4 stacks are stored; each occurs three times.
  CHECK(fallbacks == 9000 - 4 * 3);
  CHECK(capture.ledger().get("fallback.full") == fallbacks);
  CHECK(capture.ledger().get("map.entries") == 4);
  CHECK(capture.symbol_text(2999) == "f2999+0x1/0x10");
}

TEST_CASE("an errno in place of a stack is counted under its name and is no stack") {
  Chain chain;
  for (const int errnum : {17, 17, 12}) {
    RecordBuilder builder(STACKMAP_KFREE);
    builder.fields(stackmap_free_fields{1}).header.kernel_stack = static_cast<int16_t>(-errnum);
    chain.record(builder);
  }
  const Capture capture = chain.close();
  CHECK(capture.event_count() == 3);
  CHECK(capture.stacks().empty());
  CHECK(capture.ledger().get("stack.error.EEXIST") == 2);
  CHECK(capture.ledger().get("stack.error.ENOMEM") == 1);
}

TEST_CASE("a stack as deep as was asked for may have been deeper, and is counted") {
  Chain chain;
  chain.kfree(1, 50, std::vector<uint64_t>(126, 5));
  chain.kfree(2, 50, std::vector<uint64_t>(127, 5));
  CHECK(chain.close().ledger().get("stack.truncated") == 1);
}

TEST_CASE("a thread's names follow its forks, execs and renames, by time") {
  Chain chain;
  chain.record(RecordBuilder(STACKMAP_SCHED_PROCESS_FORK).at(100, 1, 1).fields(task(60, 60, 1, "parent")));
  chain.record(RecordBuilder(STACKMAP_SCHED_PROCESS_EXEC)
                   .at(200, 60, 60)
                   .fields(task(60, 60, 60, "after exec"))
                   .string("/bin/x"));
  chain.record(RecordBuilder(STACKMAP_TASK_RENAME).at(300, 60, 60).fields(task(60, 60, 0, "renamed")));
  const Capture capture = chain.close();
  CHECK(capture.tasks().name(60, 150).comm == "parent");
  CHECK(capture.tasks().name(60, 250).comm == "after exec");
  CHECK(capture.tasks().name(60, 999).comm == "renamed");
  CHECK(capture.tasks().name(60, 999).tgid == 60);
}

TEST_CASE("a record for the task table alone is no event") {
  Chain chain;
  RecordBuilder builder(STACKMAP_SCHED_PROCESS_EXIT);
  builder.at(100, 60, 60).fields(task(60, 60, 0, "gone")).header.kernel_stack = STACKMAP_TASK_ONLY;
  chain.record(builder);
  const Capture capture = chain.close();
  CHECK(capture.event_count() == 0);
  CHECK(capture.ledger().get("event.sched:sched_process_exit.task_records") == 1);
  CHECK(capture.ledger().get("event.sched:sched_process_exit.recorded") == 0);
}

TEST_CASE("a thread that nothing told of is looked up once, or keeps its process") {
  Chain chain;
  chain.kfree(10, 50, {1});
  chain.record(RecordBuilder(STACKMAP_KFREE).fields(stackmap_free_fields{1}).at(11, 71, 70).stack({1}));
  const Capture capture = chain.close();
  CHECK(capture.tasks().name(50, 10).comm == "from proc");
  CHECK(capture.tasks().name(71, 11).comm == "<...>");
  CHECK(capture.tasks().name(71, 11).tgid == 70);
}

TEST_CASE("threads that are there at the start are in the capture once an event tells of them") {
  Chain chain;
  for (const uint32_t tid : {81U, 82U, 83U, 84U}) {
    chain.recorder->add_seen_task({5, TaskChange::kSeen, tid, 80, 1, "t" + std::to_string(tid)});
  }
  chain.kfree(10, 81, {1});
  chain.record(
      RecordBuilder(STACKMAP_SCHED_SWITCH).fields(stackmap_switch_fields{1, 82, 120, 120}).at(11, 81, 81).stack({1}));
  chain.record(
      RecordBuilder(STACKMAP_SCHED_WAKEUP).fields(stackmap_wakeup_fields{83, 0, 120, 0}).at(12, 81, 81).stack({1}));
  const Capture capture = chain.close();
  CHECK(capture.tasks().name(81, 1).comm == "t81");
  CHECK(capture.tasks().name(82, 11).comm == "t82");
  CHECK(capture.tasks().name(82, 11).tgid == 80);
  CHECK(capture.tasks().name(83, 12).comm == "t83");
  CHECK(capture.tasks().records().size() == 3);
}

TEST_CASE("cache names and files are strings of the capture") {
  Chain chain;
  const auto alloc = [&](std::string_view name) {
    return RecordBuilder(STACKMAP_KMEM_CACHE_ALLOC)
        .fields(stackmap_alloc_fields{16, 10, 16, 0, -1})
        .at(1, 50, 50)
        .string(name)
        .stack({1});
  };
  const std::string longest(STACKMAP_STRING_SIZE - 1, 'n');
  // Two names that begin alike share a place in the recorder's memory of strings.
  for (const std::string& name :
       {std::string("proc_inode_cache"), std::string("proc_inode_cachf"), longest, std::string("proc_inode_cache")}) {
    chain.record(alloc(name));
  }
  const Capture capture = chain.close();
  std::vector<std::string> names;
  REQUIRE(capture.for_each_event([&](const Event& event) {
    names.emplace_back(capture.string(event.fields[1]));
    return true;
  }));
  CHECK(names == std::vector<std::string>{"proc_inode_cache", "proc_inode_cachf", longest, "proc_inode_cache"});
  CHECK(capture.ledger().get("string.truncated") == 1);
}

TEST_CASE("other tracepoints have types of their own") {
  Chain chain;
  for (const uint32_t event : {kFirstAnyEvent + 1, kFirstAnyEvent + 1, kFirstAnyEvent, kFirstAnyEvent + 3}) {
    chain.record(RecordBuilder(STACKMAP_ANY).fields(stackmap_any_fields{event, 0}).at(1, 50, 50).stack({1}));
  }
  const Capture capture = chain.close();
  std::map<std::string, int> counts;
  REQUIRE(capture.for_each_event([&](const Event& event) {
    ++counts[capture.event_type(event.type)->full_name()];
    return true;
  }));
  CHECK(counts == std::map<std::string, int>{{"irq:one", 1}, {"irq:two", 2}});
  CHECK(capture.ledger().get("reject.unknown_kind") == 1);
}

TEST_CASE("the fields that another tracepoint keeps are in its type and its events, and name whom it is about") {
  Chain chain;
  const stackmap_any_words fields{{STACKMAP_FIRST_ANY + 2, 0}, {50, 0xfffffffe, 0, 0}};
  chain.record(RecordBuilder(STACKMAP_ANY_FIELDS).fields(fields).at(1, 60, 60).stack({1}));
  // Without them it is not that event.
  chain.record(RecordBuilder(STACKMAP_ANY).fields(stackmap_any_fields{STACKMAP_FIRST_ANY + 2, 0}).at(2, 60, 60));
  const Capture capture = chain.close();
  std::vector<std::vector<uint64_t>> seen;
  REQUIRE(capture.for_each_event([&](const Event& event) {
    const EventType* type = capture.event_type(event.type);
    REQUIRE(type->full_name() == "irq:three");
    CHECK(type->fields == std::vector<FieldType>{{"who", FieldFormat::kTid}, {"n", FieldFormat::kSigned}});
    seen.emplace_back(event.fields.begin(), event.fields.end());
    return true;
  }));
  CHECK(seen == std::vector<std::vector<uint64_t>>{{50, ~uint64_t{1}}});
  CHECK(capture.tasks().name(50, 1).comm == "from proc");
  CHECK(capture.ledger().get("reject.unknown_kind") == 1);
}

TEST_CASE("records that make no sense are counted and cost nothing else") {
  Chain chain;
  chain.kfree(1, 50, {1});
  chain.recorder->lane(0).on_record({}, 0);
  chain.recorder->lane(0).on_record(bytes_of(std::string(100, '\xff')), 0);
  chain.kfree(2, 50, {1});
  const Capture capture = chain.close();
  CHECK(capture.event_count() == 2);
  CHECK(capture.ledger().get("reject.too_short") == 2);
}

TEST_CASE("a disk that fills up stops the recording with its reason, and the events are accounted for") {
  Chain chain(64, 512);
  chain.disk->fail_at = 8;
  chain.disk->keep_failing = true;
  uint64_t i = 0;
  while (!chain.recorder->status() && i < 10000) {
    ++i;
    chain.kfree(i, 50, {1, 2}, i * 4096);
  }
  REQUIRE(chain.recorder->status());
  CHECK(chain.recorder->status()->errnum == ENOSPC);
  CHECK(chain.recorder->counters().recorded() + chain.recorder->counters().write_failures == i);
  auto capture = Capture::open(memory_file(chain.disk->bytes, "full"));
  REQUIRE(capture);
  CHECK(capture->event_count() == chain.writer->events_written());
  CHECK(capture->event_count() > 0);
}

TEST_CASE("a reset between two runs of records: old cookies keep their stacks, new ones are of the next generation") {
  Chain chain;
  chain.kfree(1, 50, {1, 2});
  chain.recorder->end_batch();
  REQUIRE(chain.map->reset());
  chain.kfree(2, 50, {1, 2});
  chain.kfree(3, 50, {3, 4});
  const Capture capture = chain.close();
  std::vector<uint32_t> generations;
  REQUIRE(capture.for_each_event([&](const Event& event) {
    generations.push_back(event.stack.cookie.generation());
    REQUIRE_FALSE(capture.stack(event.stack.cookie).empty());
    return true;
  }));
  CHECK(generations == std::vector<uint32_t>{1, 2, 2});
}

TEST_CASE("the kernel's counters stand in the ledger and add up to the hits") {
  Chain chain;
  chain.kfree(1, 50, {1});
  const KernelEventCounters kernel{"kmem:kfree", {10, 1, 3, 2, 4}, 5};
  const Ledger ledger = chain.recorder->ledger({kernel});
  CHECK(ledger.get("event.kmem:kfree.hits") == 10 + 1 + 3 + 2 + 4 + 5);
  CHECK(ledger.get("event.kmem:kfree.filtered") == 10);
  CHECK(ledger.get("event.kmem:kfree.sent") == 1);
  CHECK(ledger.get("event.kmem:kfree.ring_full") == 3);
  CHECK(ledger.get("event.kmem:kfree.output_error") == 2);
  CHECK(ledger.get("event.kmem:kfree.scratch_busy") == 4);
  CHECK(ledger.get("event.kmem:kfree.recursion_misses") == 5);
  CHECK(ledger.get("event.kmem:kfree.recorded") == 1);
  CHECK_FALSE(ledger.has("event.kmem:kmalloc.recorded"));
}

TEST_CASE("a rotated recording is two captures that each stand alone, and their ledgers add up") {
  Chain chain;
  const auto second = std::make_shared<Disk>();
  chain.recorder->add_seen_task({1, TaskChange::kSeen, 7, 7, 1, "worker"});
  for (uint64_t i = 0; i < 100; ++i) {
    chain.kfree(i, 7, {1000 + i % 5, 3000});
  }
  CaptureWriter::Options options;
  auto next =
      std::move(CaptureWriter::create(
                    std::make_unique<FaultyFile>(second), {},
                    Recorder::event_types({AnyEvent{{"irq", "one"}, {}}, AnyEvent{{"irq", "two"}, {}}}), options))
          .value();
  KernelEventCounters kernel;
  kernel.event = "kmem:kfree";
  kernel.counters.sent = 100;
  kernel.counters.filtered = 9;
  REQUIRE(chain.recorder->rotate(*next, {kernel}));
  for (uint64_t i = 0; i < 40; ++i) {
    chain.kfree(200 + i, 7, {1000 + i % 3, 3000});
  }
  kernel.counters.sent = 140;
  kernel.counters.filtered = 11;
  REQUIRE(chain.recorder->close({kernel}));

  uint64_t sum = 0;
  uint32_t generation = 0;
  const std::vector<std::tuple<std::string, uint64_t, size_t, uint64_t>> expected = {{chain.disk->bytes, 100, 5, 9},
                                                                                     {second->bytes, 40, 3, 2}};
  for (const auto& [bytes, events, stacks, filtered] : expected) {
    const Capture capture = std::move(Capture::open(memory_file(bytes, "segment"))).value();
    CHECK(capture.damage().closed);
    CHECK_FALSE(capture.damage().any());
    CHECK(capture.event_count() == events);
    REQUIRE(capture.stacks().size() == stacks);
    CHECK(capture.stacks()[0].cookie.generation() > generation);
    generation = capture.stacks()[0].cookie.generation();
    CHECK(capture.ledger().get("event.kmem:kfree.sent") == events);
    CHECK(capture.ledger().get("event.kmem:kfree.recorded") == events);
    CHECK(capture.ledger().get("event.kmem:kfree.filtered") == filtered);
    CHECK(capture.tasks().name(7, 500).comm == "worker");
    REQUIRE(capture.for_each_event([&](const Event& event) {
      const auto frames = capture.stack(event.stack.cookie);
      REQUIRE(frames.size() == 2);
      CHECK(frames[1] == 3000);
      REQUIRE(capture.symbol(frames[0]) != nullptr);
      ++sum;
      return true;
    }));
  }
  CHECK(sum == 140);
}

TEST_CASE("the first event that matches a pattern is told, and the next one after that was taken") {
  Chain chain;
  Recorder::Options options;
  options.patterns.push_back({kKfree, {EventCondition::on_field("ptr=5", known_event_types()[kKfree - 1]).value()}});
  Recorder recorder(std::move(options), *chain.map, *chain.writer);
  const auto free = [&](uint64_t time, uint64_t pointer) {
    RecordBuilder builder(STACKMAP_KFREE);
    const std::string bytes = builder.fields(stackmap_free_fields{pointer}).at(time, 1, 1).stack({1, 2}).bytes();
    recorder.lane(0).on_record(bytes_of(bytes), 0);
  };
  free(10, 4);
  CHECK_FALSE(recorder.take_fired());
  free(11, 5);
  free(12, 5);
  const auto fired = recorder.take_fired();
  REQUIRE(fired);
  CHECK(fired->time_ns == 11);
  CHECK_FALSE(recorder.take_fired());
  free(13, 5);
  CHECK(recorder.take_fired()->time_ns == 13);
}
