// SPDX-License-Identifier: Apache-2.0
#include "profile/weights/allocation_weight.h"

#include "profile/aggregate.h"
#include "support/catch.h"
#include "support/report_fixture.h"

namespace stackmap {

namespace {

// What one event weighs; 0 if it is left out, for the reason that `why` has.
uint64_t weigh(const test::FakeEvents& source, uint16_t type, const std::vector<uint64_t>& fields,
               std::string* why = nullptr) {
  Event event;
  event.type = type;
  event.fields = fields;
  AllocationWeight weight(source, "bytes_alloc");
  WeightSink sink;
  weight.take(event, sink);
  const auto entries = sink.entries();
  const std::vector<std::string> notes = weight.notes();
  REQUIRE(entries.size() + notes.size() == 1);
  if (why != nullptr) {
    *why = notes.empty() ? "" : notes[0];
  }
  return entries.empty() ? 0 : entries[0].value;
}

std::string why_not(const test::FakeEvents& source, uint16_t type, const std::vector<uint64_t>& fields) {
  std::string why;
  CHECK(weigh(source, type, fields, &why) == 0);
  return why;
}

constexpr std::string_view kNotAllocation = "1 event is no allocation and has no bytes";
constexpr std::string_view kFailed = "1 failed allocation is not counted as bytes";
constexpr std::string_view kUnknownSize = "1 allocation without a usable size is not counted";

}  // namespace

TEST_CASE("case 11: pages to bytes, by the page size of the machine", "[allocation_weight]") {
  test::FakeEvents source;
  CHECK(weigh(source, kMmPageAlloc, {5, 0, 0, 0}) == 4096);
  CHECK(weigh(source, kMmPageAlloc, {5, 3, 0, 0}) == 32768);
  source.page = 65536;
  CHECK(weigh(source, kMmPageAlloc, {5, 0, 0, 0}) == 65536);
  CHECK(weigh(source, kMmPageAlloc, {5, 3, 0, 0}) == 524288);
  CHECK(weigh(source, kMmPageAlloc, {5, 40, 0, 0}) == uint64_t{1} << 56);
  CHECK(why_not(source, kMmPageAlloc, {5, 41, 0, 0}) == kUnknownSize);
  CHECK(why_not(source, kMmPageAlloc, {5, 64, 0, 0}) == kUnknownSize);
  CHECK(why_not(source, kMmPageAlloc, {5, ~uint64_t{0}, 0, 0}) == kUnknownSize);
  source.page = 0;
  CHECK(why_not(source, kMmPageAlloc, {5, 0, 0, 0}) == kUnknownSize);
  source.page = 0x80000000U;
  CHECK(why_not(source, kMmPageAlloc, {5, 33, 0, 0}) == kUnknownSize);  // 2^64
}

TEST_CASE("slab allocations weigh what the field says", "[allocation_weight]") {
  // kmalloc(100) is served from the cache of 128 bytes; an object of 100 bytes takes 192 where it is aligned to 64.
  test::FakeEvents source;
  CHECK(weigh(source, kKmalloc, {1, 100, 128, 0, 0}) == 128);
  CHECK(weigh(source, kKmallocNode, {1, 100, 128, 0, 0}) == 128);
  CHECK(weigh(source, kKmemCacheAlloc, {1, 9, 100, 192, 0, 0}) == 192);
  CHECK(weigh(source, kKmemCacheAllocNode, {1, 9, 100, 192, 0, 0}) == 192);
}

TEST_CASE("what was asked for is less than what was taken, but for pages", "[allocation_weight]") {
  test::FakeEvents source;
  source.add(kKmalloc, {1, 100, 128, 0, 0});
  source.add(kKmallocNode, {2, 1, 8, 0, 0});  // the smallest cache
  source.add(kKmemCacheAlloc, {3, 9, 100, 192, 0, 0});
  source.add(kKmemCacheAllocNode, {4, 9, 640, 640, 0, 0});
  source.add(kMmPageAlloc, {5, 3, 0, 0});
  source.add(kKfree, {1});
  const auto total = [&](std::string_view weight) {
    const auto profile = aggregate(source, {}, {.weight = find_weight(weight)});
    REQUIRE(profile.ok());
    CHECK(profile->notes == std::vector<std::string>{std::string(kNotAllocation)});
    return profile->totals();
  };
  CHECK(total("bytes-requested") == std::vector<uint64_t>{100 + 1 + 100 + 640 + 8 * 4096, 5});
  CHECK(total("bytes") == std::vector<uint64_t>{128 + 8 + 192 + 640 + 8 * 4096, 5});
}

TEST_CASE("frees and other events weigh nothing", "[allocation_weight]") {
  test::FakeEvents source;
  CHECK(why_not(source, kMmPageFree, {5, 3}) == kNotAllocation);
  CHECK(why_not(source, kKfree, {1}) == kNotAllocation);
  CHECK(why_not(source, kSchedSwitch, {1, 2, 3, 4}) == kNotAllocation);
  CHECK(why_not(source, 9999, {1}) == kNotAllocation);
}

TEST_CASE("case 6: a failed allocation is told apart", "[allocation_weight]") {
  test::FakeEvents source;
  CHECK(why_not(source, kKmalloc, {0, 100, 128, 0, 0}) == kFailed);
  CHECK(why_not(source, kMmPageAlloc, {~uint64_t{0}, 3, 0, 0}) == kFailed);
  CHECK(weigh(source, kMmPageAlloc, {0, 3, 0, 0}) == 32768);  // page frame 0 is a page
}

TEST_CASE("an imported allocation counts by name; one without its field does not", "[allocation_weight]") {
  test::FakeEvents source;
  source.add_type({kFirstFreeEventType, "kmem", "kmalloc", {{"bytes_alloc"}}});
  source.add_type({kFirstFreeEventType + 1, "kmem", "kmem_cache_alloc", {{"ptr"}}});
  source.add_type({kFirstFreeEventType + 2, "mine", "kmalloc", {{"bytes_alloc"}}});
  CHECK(weigh(source, kFirstFreeEventType, {64}) == 64);
  CHECK(why_not(source, kFirstFreeEventType, {}) == kUnknownSize);
  CHECK(why_not(source, kFirstFreeEventType + 1, {64}) == kUnknownSize);
  CHECK(why_not(source, kFirstFreeEventType + 2, {64}) == kNotAllocation);
}

}  // namespace stackmap
