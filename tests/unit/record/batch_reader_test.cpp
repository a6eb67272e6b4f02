// SPDX-License-Identifier: Apache-2.0
#include "record/batch_reader.h"

#include <map>
#include <random>

#include "record/batch_memory.h"
#include "record/record_decoder.h"
#include "support/catch.h"
#include "support/record_builder.h"

using namespace stackmap;
using stackmap_test::BatchBuilder;
using stackmap_test::RecordBuilder;

namespace {

constexpr uint32_t kAlloc = 7;
constexpr uint32_t kFree = 8;
constexpr uint32_t kSwitch = 9;
constexpr uint32_t kAnyTracepoint = 10;

// The templates of a few records, by ids of the test's choice; keeps what it is told.
struct Listener {
  struct Seen {
    KnownEvent kind;
    uint64_t time_ns;
    uint32_t tid;
    uint32_t tgid;
    std::vector<uint64_t> fields;
    std::string string;
    std::vector<uint64_t> frames;
    uint32_t subject_tid;
    uint32_t any_event;
    bool operator==(const Seen&) const = default;
  };

  explicit Listener() {
    add(kAlloc, RecordBuilder(STACKMAP_KMEM_CACHE_ALLOC)
                    .fields(stackmap_alloc_fields{1, 100, 192, 0xcc0, -1})
                    .string("filp")
                    .stack({11, 12, 13}));
    add(kFree, RecordBuilder(STACKMAP_KFREE).fields(stackmap_free_fields{1}).stack({21}));
    add(kSwitch, RecordBuilder(STACKMAP_SCHED_SWITCH).fields(stackmap_switch_fields{1, 2, 120, -1}).stack({31, 32}));
    add(kAnyTracepoint, RecordBuilder(STACKMAP_ANY).fields(stackmap_any_fields{STACKMAP_FIRST_ANY + 3, 0}).stack({41}));
  }

  void add(uint32_t id, RecordBuilder builder) {
    const std::string bytes = builder.bytes();
    Sample sample;
    REQUIRE_FALSE(decoder.decode(bytes_of(bytes), 0, sample));
    auto made = template_of(bytes_of(bytes), sample);
    REQUIRE(made);
    frames[id].assign(made->frames.begin(), made->frames.end());
    made->frames = frames[id];
    templates[id] = *made;
  }

  const SampleTemplate* find(uint32_t id) const {
    const auto found = templates.find(id);
    return found == templates.end() ? nullptr : &found->second;
  }
  void on_event(const BatchEvent& event, const SampleTemplate& from) {
    const Sample sample = RecordDecoder::sample_of(event, from);
    check_short_way(event, from, sample);
    events.push_back(seen(sample));
  }
  // The template's fields with the words put in are the same.
  static void check_short_way(const BatchEvent& event, const SampleTemplate& from, const Sample& sample) {
    BatchEvent without = event;
    without.word = 0;
    auto fields = RecordDecoder::sample_of(without, from).fields;
    const RecordLayout& layout = record_layout(from.kind());
    layout.read_dynamic(event.word, fields);
    REQUIRE(fields == sample.fields);
    REQUIRE(layout.subject(fields) == sample.subject_tid);
  }
  void on_reject(Reject reason, uint64_t count) { rejects[reason] += count; }

  static Seen seen(const Sample& s) {
    return {s.kind,
            s.time_ns,
            s.tid,
            s.tgid,
            {s.fields.begin(), s.fields.begin() + s.field_count},
            std::string(s.string),
            {s.kernel_stack.frames.begin(), s.kernel_stack.frames.end()},
            s.subject_tid,
            s.any_event};
  }
  void take(const std::string& bytes) {
    decode_batch(
        bytes_of(bytes), 0, [this](uint32_t id) { return find(id); }, *this);
  }

  RecordDecoder decoder;
  std::map<uint32_t, SampleTemplate> templates;
  std::map<uint32_t, std::vector<uint64_t>> frames;
  std::vector<Seen> events;
  std::map<Reject, uint64_t> rejects;
};

BatchBuilder good_batch() {
  BatchBuilder batch(1000, 42, 40);
  batch.event(kAlloc, 0, {0xffff888100000000}).event(kFree, 5, {0x10});
  batch.thread(50, 49).event(kSwitch, 70, {uint64_t{99} << 32 | 2});
  return batch.event(kAnyTracepoint, 80, {});
}

}  // namespace

TEST_CASE("an event of a batch is what its record would have been") {
  Listener listener;
  REQUIRE(is_batch(bytes_of(good_batch().bytes())));
  listener.take(good_batch().bytes() + std::string(4, '\xee'));  // perf's padding
  const std::vector<std::string> records = {
      RecordBuilder(STACKMAP_KMEM_CACHE_ALLOC)
          .fields(stackmap_alloc_fields{0xffff888100000000, 100, 192, 0xcc0, -1})
          .at(1000, 42, 40)
          .string("filp")
          .stack({11, 12, 13})
          .bytes(),
      RecordBuilder(STACKMAP_KFREE).fields(stackmap_free_fields{0x10}).at(1005, 42, 40).stack({21}).bytes(),
      RecordBuilder(STACKMAP_SCHED_SWITCH)
          .fields(stackmap_switch_fields{2, 99, 120, -1})
          .at(1070, 50, 49)
          .stack({31, 32})
          .bytes(),
      RecordBuilder(STACKMAP_ANY)
          .fields(stackmap_any_fields{STACKMAP_FIRST_ANY + 3, 0})
          .at(1080, 50, 49)
          .stack({41})
          .bytes()};
  std::vector<Listener::Seen> expected;
  for (const std::string& record : records) {
    Sample sample;
    REQUIRE_FALSE(is_batch(bytes_of(record)));
    REQUIRE_FALSE(listener.decoder.decode(bytes_of(record), 0, sample));
    expected.push_back(Listener::seen(sample));
  }
  CHECK(listener.events == expected);
  CHECK(listener.rejects.empty());
}

TEST_CASE("what has no template: tasks, stacks that failed, are empty, deeper than 64 frames, or a user's") {
  RecordDecoder decoder;
  const auto has_template = [&](RecordBuilder builder) {
    const std::string bytes = builder.bytes();
    Sample sample;
    REQUIRE_FALSE(decoder.decode(bytes_of(bytes), 0, sample));
    return template_of(bytes_of(bytes), sample).has_value();
  };
  const auto kfree = [] { return RecordBuilder(STACKMAP_KFREE).fields(stackmap_free_fields{1}); };
  CHECK(has_template(kfree().stack(std::vector<uint64_t>(64, 1))));
  CHECK_FALSE(has_template(kfree().stack(std::vector<uint64_t>(65, 1))));
  CHECK_FALSE(has_template(kfree().stack({})));
  CHECK_FALSE(has_template(kfree().stack({1}).user_stack({2})));
  RecordBuilder failed = kfree();
  failed.header.kernel_stack = -14;
  CHECK_FALSE(has_template(failed));
  CHECK_FALSE(has_template(RecordBuilder(STACKMAP_SCHED_PROCESS_EXIT).fields(stackmap_task_fields{}).stack({1})));
}

TEST_CASE("templates differ in any word that recurs, and in no other") {
  RecordDecoder decoder;
  const auto template_words = [&](const stackmap_alloc_fields& fields, std::string_view name, uint64_t frame) {
    const std::string bytes =
        RecordBuilder(STACKMAP_KMEM_CACHE_ALLOC).fields(fields).string(name).stack({1, frame}).bytes();
    Sample sample;
    REQUIRE_FALSE(decoder.decode(bytes_of(bytes), 0, sample));
    const auto made = template_of(bytes_of(bytes), sample);
    REQUIRE(made);
    return std::tuple(made->shape, made->fields, made->string, template_hash(*made));
  };
  const auto base = template_words({1, 100, 192, 0xcc0, -1}, "filp", 2);
  CHECK(template_words({2, 100, 192, 0xcc0, -1}, "filp", 2) == base);
  CHECK(template_words({1, 101, 192, 0xcc0, -1}, "filp", 2) != base);
  CHECK(template_words({1, 100, 193, 0xcc0, -1}, "filp", 2) != base);
  CHECK(template_words({1, 100, 192, 0xcc1, -1}, "filp", 2) != base);
  CHECK(template_words({1, 100, 192, 0xcc0, 0}, "filp", 2) != base);
  CHECK(template_words({1, 100, 192, 0xcc0, -1}, "filq", 2) != base);
  CHECK(template_words({1, 100, 192, 0xcc0, -1}, "filp", 3) != base);
}

TEST_CASE("the words of an event of any kind are where its record would have had them") {
  std::mt19937_64 random(1);
  for (uint8_t kind = 0; kind < 64; ++kind) {
    SampleTemplate from;
    from.shape = stackmap_cache_shape(kind, 0, 0);
    from.fields = {random(), random()};
    const RecordLayout& layout = record_layout(from.kind());
    BatchEvent event;
    if (layout.is_cached()) {
      event.word = layout.dynamic_words() != 0 ? random() : 0;
      Listener::check_short_way(event, from, RecordDecoder::sample_of(event, from));
    }
  }
}

TEST_CASE("an event of an unknown template is rejected alone") {
  Listener listener;
  listener.templates.erase(kFree);
  listener.take(good_batch().bytes());
  CHECK(listener.events.size() == 3);
  CHECK(listener.rejects == std::map<Reject, uint64_t>{{Reject::kUnknownTemplate, 1}});
}

TEST_CASE("an event with other words than its template's kind has is rejected alone") {
  Listener listener;
  listener.take(BatchBuilder(1, 2, 3).event(kFree, 0, {1, 2}).event(kFree, 0, {}).event(kFree, 0, {1}).bytes());
  CHECK(listener.events.size() == 1);
  CHECK(listener.rejects == std::map<Reject, uint64_t>{{Reject::kBadSize, 2}});
}

TEST_CASE("a batch cut anywhere: every event that it says it has is told of once, as far as there is room for it") {
  const std::string good = good_batch().bytes();
  for (size_t n = 0; n < good.size(); ++n) {
    Listener listener;
    listener.take(good.substr(0, n));
    REQUIRE(listener.events.empty());
    REQUIRE(listener.rejects.size() == 1);
    // Told by perf as a shorter record: the header says more.
    const uint64_t expected = n < 32 ? 1 : std::min<uint64_t>(4, (n - 24) / 8);
    REQUIRE(listener.rejects[Reject::kTooShort] == expected);
    if (n < sizeof(stackmap_record_header)) {
      continue;
    }
    // Cut by whoever wrote it: the header's size fits.
    std::string cut = good.substr(0, n);
    const auto size = static_cast<uint16_t>(n);
    std::memcpy(cut.data() + offsetof(stackmap_record_header, size), &size, sizeof(size));
    Listener other;
    other.take(cut);
    REQUIRE(other.events.size() < 4);
    const uint64_t told = other.events.size() + other.rejects[Reject::kBadSize];
    REQUIRE(told == std::min<uint64_t>(4, std::max<uint64_t>(1, (n - 24) / 8)));
  }
}

TEST_CASE("a batch whose head makes no sense is rejected as a whole") {
  const auto told = [](const auto& change) {
    BatchBuilder batch = good_batch();
    change(batch);
    Listener listener;
    listener.take(batch.bytes());
    CHECK(listener.events.empty());
    return listener.rejects[Reject::kBadSize];
  };
  CHECK(told([](auto& b) { b.header.kernel_stack = 0; }) == 1);
  CHECK(told([](auto& b) { b.header.kernel_stack = -4; }) == 1);
  CHECK(told([](auto& b) { b.header.string_size = 8; }) == 4);
  CHECK(told([](auto& b) { b.header.user_stack = 8; }) == 4);
  // 4 events of 16, 16, 16 and 8 bytes and a change of thread of 8 have room for 8 of 8.
  CHECK(told([](auto& b) { b.header.kernel_stack = 32767; }) == 8);
}

TEST_CASE("more or fewer entries than a batch says that it has") {
  for (const int change : {-1, 1}) {
    BatchBuilder batch = good_batch();
    batch.header.kernel_stack = static_cast<int16_t>(4 + change);
    Listener listener;
    listener.take(batch.bytes());
    CHECK(listener.events.size() == (change < 0 ? 3 : 4));
    CHECK(listener.rejects[Reject::kBadSize] == 1);
  }
}

TEST_CASE("random bytes in a batch give events or reasons, and never more than it has room for") {
  std::mt19937 random(1);
  const std::string good = good_batch().bytes();
  size_t accepted = 0;
  Listener listener;
  for (int i = 0; i < 50000; ++i) {
    std::string bytes = good;
    for (int flips = 0; flips < 1 + i % 3; ++flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    listener.events.clear();
    listener.rejects.clear();
    listener.take(bytes);
    uint64_t told = listener.events.size();
    for (const auto& [reason, count] : listener.rejects) {
      told += count;
    }
    REQUIRE(told >= 1);
    REQUIRE(told <= 9);
    accepted += listener.events.size();
  }
  CHECK(accepted > 0);
}

TEST_CASE("user space takes the batch of a CPU that is offline as its program would have sent it") {
  std::vector<stackmap_batch> shared(2);
  BatchMemory memory(std::as_writable_bytes(std::span(shared)));
  REQUIRE(memory.cpus() == 2);
  CHECK(memory.is_empty(0));
  const std::string good = good_batch().bytes();
  std::memcpy(&shared[1].header, good.data(), sizeof(stackmap_record_header));
  shared[1].header.kind = 0;  // both are filled in when it is sent
  shared[1].header.size = 0;
  std::memcpy(shared[1].entries, good.data() + 24, good.size() - 24);
  shared[1].used = static_cast<uint32_t>(good.size() - 24);
  CHECK_FALSE(memory.is_empty(1));
  memory.claim(1);
  CHECK(shared[1].claimed == 1);
  const auto taken = memory.take(1);
  CHECK(std::string(reinterpret_cast<const char*>(taken.data()), taken.size()) == good);
  CHECK(memory.take(1).empty());
  memory.release(1);
  CHECK(shared[1].claimed == 0);
  CHECK(memory.is_empty(1));
  CHECK(shared[1].number == 1);
}
