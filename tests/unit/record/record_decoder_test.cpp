// SPDX-License-Identifier: Apache-2.0
#include "record/record_decoder.h"

#include <random>

#include "support/catch.h"
#include "support/record_builder.h"

using namespace stackmap;
using stackmap_test::RecordBuilder;

namespace {

std::vector<uint64_t> fields_of(const Sample& sample) {
  return {sample.fields.begin(), sample.fields.begin() + sample.field_count};
}

std::vector<uint64_t> frames_of(const RawStack& stack) {
  return {stack.frames.begin(), stack.frames.end()};
}

std::string cache_alloc() {
  return RecordBuilder(STACKMAP_KMEM_CACHE_ALLOC)
      .fields(stackmap_alloc_fields{0xffff888100000000, 100, 192, 0xcc0, -1})
      .at(123456789, 42, 40)
      .string("filp")
      .stack({0xffffffff81000001, 0xffffffff81000002})
      .bytes();
}

}  // namespace

TEST_CASE("a record with fields, string and stack") {
  RecordDecoder decoder;
  Sample sample;
  const std::string bytes = cache_alloc();  // the sample's string is in it
  REQUIRE_FALSE(decoder.decode(bytes_of(bytes), 3, sample));
  CHECK(sample.kind == kKmemCacheAlloc);
  CHECK(sample.cpu == 3);
  CHECK(sample.time_ns == 123456789);
  CHECK(sample.tid == 42);
  CHECK(sample.tgid == 40);
  CHECK(sample.string == "filp");
  CHECK(sample.string_field == 1);
  CHECK(fields_of(sample) == std::vector<uint64_t>{0xffff888100000000, 0, 100, 192, 0xcc0, ~uint64_t{0}});
  CHECK(frames_of(sample.kernel_stack) == std::vector<uint64_t>{0xffffffff81000001, 0xffffffff81000002});
  CHECK(sample.kernel_stack.errnum == 0);
  CHECK(sample.user_stack.frames.empty());
  CHECK_FALSE(sample.task_only);
}

TEST_CASE("perf's padding behind the record changes nothing") {
  RecordDecoder decoder;
  Sample sample;
  const std::string padded = cache_alloc() + std::string(4, '\xee');
  REQUIRE_FALSE(decoder.decode(bytes_of(padded), 0, sample));
  CHECK(sample.kernel_stack.frames.size() == 2);
}

TEST_CASE("a negative stack size is an errno, not a stack") {
  RecordDecoder decoder;
  Sample sample;
  RecordBuilder builder(STACKMAP_KFREE);
  builder.fields(stackmap_free_fields{8}).header.kernel_stack = -14;
  REQUIRE_FALSE(decoder.decode(bytes_of(builder.bytes()), 0, sample));
  CHECK(sample.kernel_stack.errnum == 14);
  CHECK(sample.kernel_stack.frames.empty());
}

TEST_CASE("kernel and user stack are told apart") {
  RecordDecoder decoder;
  Sample sample;
  const std::string both =
      RecordBuilder(STACKMAP_KFREE).fields(stackmap_free_fields{8}).stack({1, 2}).user_stack({3}).bytes();
  REQUIRE_FALSE(decoder.decode(bytes_of(both), 0, sample));
  CHECK(frames_of(sample.kernel_stack) == std::vector<uint64_t>{1, 2});
  CHECK(frames_of(sample.user_stack) == std::vector<uint64_t>{3});
}

TEST_CASE("a record for the task table alone has no stack and no error") {
  RecordDecoder decoder;
  Sample sample;
  stackmap_task_fields fields{101, 100, 77, 120, {}};
  std::memcpy(fields.comm, "fifteen chars..", 15);  // fills it up to the NUL
  RecordBuilder builder(STACKMAP_SCHED_PROCESS_FORK);
  builder.fields(fields).header.kernel_stack = STACKMAP_TASK_ONLY;
  const std::string bytes = builder.bytes();
  REQUIRE_FALSE(decoder.decode(bytes_of(bytes), 0, sample));
  CHECK(sample.task_only);
  CHECK(sample.task.tid == 101);
  CHECK(sample.task.tgid == 100);
  CHECK(sample.task.old_tid == 77);
  CHECK(sample.task.comm == "fifteen chars..");
  CHECK(sample.kernel_stack.errnum == 0);
  CHECK(fields_of(sample) == std::vector<uint64_t>{101});
}

TEST_CASE("the fields of the other kinds, in the tracepoint's order") {
  RecordDecoder decoder;
  Sample sample;
  const auto decoded = [&](const std::string& bytes) {
    REQUIRE_FALSE(decoder.decode(bytes_of(bytes), 0, sample));
    return fields_of(sample);
  };
  using V = std::vector<uint64_t>;
  CHECK(decoded(RecordBuilder(STACKMAP_KMALLOC).fields(stackmap_alloc_fields{16, 5, 8, 0xdc0, 1}).bytes()) ==
        V{16, 5, 8, 0xdc0, 1});
  CHECK(decoded(RecordBuilder(STACKMAP_MM_PAGE_ALLOC).fields(stackmap_page_fields{7, 3, 2, 0x10, 0}).bytes()) ==
        V{7, 3, 2, 0x10});
  CHECK(decoded(RecordBuilder(STACKMAP_MM_PAGE_FREE).fields(stackmap_page_fields{7, 3, 0, 0, 0}).bytes()) == V{7, 3});
  CHECK(decoded(RecordBuilder(STACKMAP_SCHED_SWITCH).fields(stackmap_switch_fields{2, 9, 120, -1}).bytes()) ==
        V{120, 2, 9, ~uint64_t{0}});
  CHECK(decoded(RecordBuilder(STACKMAP_SCHED_WAKING).fields(stackmap_wakeup_fields{9, 1, 120, 0}).bytes()) ==
        V{9, 120, 1});
  CHECK(decoded(RecordBuilder(STACKMAP_ANY).fields(stackmap_any_fields{STACKMAP_FIRST_ANY + 3, 0}).bytes()).empty());
  CHECK(sample.any_event == kFirstAnyEvent + 3);
}

TEST_CASE("what does not add up is rejected, with the reason") {
  RecordDecoder decoder;
  Sample sample;
  const std::string good = cache_alloc();
  const auto reject = [&](const std::string& bytes) { return decoder.decode(bytes_of(bytes), 0, sample); };
  for (size_t n = 0; n < good.size(); ++n) {
    REQUIRE(reject(good.substr(0, n)) == Reject::kTooShort);
  }
  const auto changed = [&](const auto& change) {
    std::string bytes = good;
    stackmap_record_header header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    change(header);
    std::memcpy(bytes.data(), &header, sizeof(header));
    return reject(bytes);
  };
  CHECK(changed([](auto& h) { h.kind = 0; }) == Reject::kUnknownKind);
  CHECK(changed([](auto& h) { h.kind = 200; }) == Reject::kUnknownKind);
  CHECK(changed([](auto& h) { h.kind = STACKMAP_KFREE; }) == Reject::kBadSize);
  CHECK(changed([](auto& h) { h.size = static_cast<uint16_t>(h.size - 8); }) == Reject::kBadSize);
  CHECK(changed([](auto& h) { h.kernel_stack = 15; }) == Reject::kBadSize);
  CHECK(changed([](auto& h) { h.user_stack = 8; }) == Reject::kBadSize);
  std::string endless = good;
  endless.replace(24 + 24 + 16, 8, "12345678");
  CHECK(reject(endless) == Reject::kBadString);
  CHECK(reject(RecordBuilder(STACKMAP_ANY).fields(stackmap_any_fields{1, 0}).bytes()) == Reject::kUnknownKind);
}

TEST_CASE("random bytes give a sample or a reason, never a view outside of them") {
  RecordDecoder decoder;
  std::mt19937 random(1);
  const std::string good = cache_alloc();
  size_t accepted = 0;
  for (int i = 0; i < 100000; ++i) {
    std::string bytes = good;
    for (int flips = 0; flips < 1 + i % 3; ++flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    Sample sample;
    if (!decoder.decode(bytes_of(bytes), 0, sample)) {
      ++accepted;
      REQUIRE(sample.kernel_stack.frames.size() * 8 <= bytes.size());
      REQUIRE(sample.string.size() <= bytes.size());
    }
  }
  CHECK(accepted > 0);
}
