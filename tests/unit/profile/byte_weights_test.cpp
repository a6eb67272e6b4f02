// SPDX-License-Identifier: Apache-2.0
#include "profile/byte_weights.h"

#include "support/catch.h"
#include "support/report_fixture.h"

namespace stackmap {

namespace {

using Verdict = ByteWeights::Verdict;

std::pair<Verdict, uint64_t> weigh(const test::FakeEvents& source, uint16_t type, const std::vector<uint64_t>& fields) {
  Event event;
  event.type = type;
  event.fields = fields;
  uint64_t bytes = 77;  // left alone unless the event has bytes
  const Verdict verdict = ByteWeights(source).weigh(event, bytes);
  return {verdict, bytes};
}

}  // namespace

TEST_CASE("case 11: pages to bytes, by the page size of the machine", "[byte_weights]") {
  test::FakeEvents source;
  CHECK(weigh(source, kMmPageAlloc, {5, 0, 0, 0}) == std::pair(Verdict::kBytes, uint64_t{4096}));
  CHECK(weigh(source, kMmPageAlloc, {5, 3, 0, 0}) == std::pair(Verdict::kBytes, uint64_t{32768}));
  source.page = 65536;
  CHECK(weigh(source, kMmPageAlloc, {5, 0, 0, 0}) == std::pair(Verdict::kBytes, uint64_t{65536}));
  CHECK(weigh(source, kMmPageAlloc, {5, 3, 0, 0}) == std::pair(Verdict::kBytes, uint64_t{524288}));
  CHECK(weigh(source, kMmPageAlloc, {5, 40, 0, 0}) == std::pair(Verdict::kBytes, uint64_t{1} << 56));
  CHECK(weigh(source, kMmPageAlloc, {5, 41, 0, 0}).first == Verdict::kUnknownSize);
  CHECK(weigh(source, kMmPageAlloc, {5, 64, 0, 0}).first == Verdict::kUnknownSize);
  CHECK(weigh(source, kMmPageAlloc, {5, ~uint64_t{0}, 0, 0}).first == Verdict::kUnknownSize);
  source.page = 0;
  CHECK(weigh(source, kMmPageAlloc, {5, 0, 0, 0}) == std::pair(Verdict::kUnknownSize, uint64_t{77}));
  source.page = 0x80000000U;
  CHECK(weigh(source, kMmPageAlloc, {5, 33, 0, 0}).first == Verdict::kUnknownSize);  // 2^64
}

TEST_CASE("slab allocations weigh bytes_alloc, not bytes_req", "[byte_weights]") {
  test::FakeEvents source;
  CHECK(weigh(source, kKmalloc, {1, 100, 128, 0, 0}) == std::pair(Verdict::kBytes, uint64_t{128}));
  CHECK(weigh(source, kKmallocNode, {1, 100, 128, 0, 0}) == std::pair(Verdict::kBytes, uint64_t{128}));
  CHECK(weigh(source, kKmemCacheAlloc, {1, 9, 100, 192, 0, 0}) == std::pair(Verdict::kBytes, uint64_t{192}));
  CHECK(weigh(source, kKmemCacheAllocNode, {1, 9, 100, 192, 0, 0}) == std::pair(Verdict::kBytes, uint64_t{192}));
}

TEST_CASE("frees and other events weigh nothing", "[byte_weights]") {
  test::FakeEvents source;
  CHECK(weigh(source, kMmPageFree, {5, 3}) == std::pair(Verdict::kNotAllocation, uint64_t{77}));
  CHECK(weigh(source, kKfree, {1}).first == Verdict::kNotAllocation);
  CHECK(weigh(source, kSchedSwitch, {1, 2, 3, 4}).first == Verdict::kNotAllocation);
  CHECK(weigh(source, 9999, {1}).first == Verdict::kNotAllocation);
}

TEST_CASE("case 6: a failed allocation is told apart", "[byte_weights]") {
  test::FakeEvents source;
  CHECK(weigh(source, kKmalloc, {0, 100, 128, 0, 0}) == std::pair(Verdict::kFailed, uint64_t{77}));
  CHECK(weigh(source, kMmPageAlloc, {~uint64_t{0}, 3, 0, 0}).first == Verdict::kFailed);
  CHECK(weigh(source, kMmPageAlloc, {0, 3, 0, 0}).first == Verdict::kBytes);  // page frame 0 is a page
}

TEST_CASE("an imported allocation counts by name; one without its field does not", "[byte_weights]") {
  test::FakeEvents source;
  source.add_type({kFirstFreeEventType, "kmem", "kmalloc", {{"bytes_alloc"}}});
  source.add_type({kFirstFreeEventType + 1, "kmem", "kmem_cache_alloc", {{"ptr"}}});
  source.add_type({kFirstFreeEventType + 2, "mine", "kmalloc", {{"bytes_alloc"}}});
  CHECK(weigh(source, kFirstFreeEventType, {64}) == std::pair(Verdict::kBytes, uint64_t{64}));
  CHECK(weigh(source, kFirstFreeEventType, {}).first == Verdict::kUnknownSize);
  CHECK(weigh(source, kFirstFreeEventType + 1, {64}).first == Verdict::kUnknownSize);
  CHECK(weigh(source, kFirstFreeEventType + 2, {64}).first == Verdict::kNotAllocation);
}

}  // namespace stackmap
