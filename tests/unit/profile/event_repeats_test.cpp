// SPDX-License-Identifier: Apache-2.0
#include "profile/event_repeats.h"

#include "profile/aggregate.h"
#include "support/catch.h"
#include "support/report_fixture.h"

namespace stackmap {

namespace {

constexpr uint16_t kSample = 70;

test::FakeEvents source_with_samples() {
  test::FakeEvents source;
  source.add_type({kSample, "folded", "sample", {{"text", FieldFormat::kString}, {"n", FieldFormat::kRepeat}}});
  return source;
}

}  // namespace

TEST_CASE("an event counts as often as its field says, and once without one", "[event_repeats]") {
  test::FakeEvents source = source_with_samples();
  const EventRepeats repeats(source);
  CHECK(repeats.of(source.add(kSample, {9, 1234})) == 1234);
  CHECK(repeats.of(source.add(kSample, {9, 0})) == 0);
  CHECK(repeats.of(source.add(kKfree, {0x10})) == 1);
  CHECK(repeats.of(source.add(4000, {7, 8})) == 1);  // a type that the capture has lost
  CHECK(repeats.of(source.add(kSample, {})) == 1);   // and the fields with it
  CHECK(EventRepeats(test::FakeEvents()).of(source.add(kKfree, {0x10})) == 1);
}

TEST_CASE("a profile of counts adds the repeats up, and says so where that is more than 64 bits hold",
          "[event_repeats]") {
  test::FakeEvents source = source_with_samples();
  source.task(1, "a");
  source.stacks[Cookie(1, 7)] = {0x10};
  source.stacks[Cookie(1, 8)] = {0x20};
  source.add(kSample, {0, 3'000'000'000'000}, source.cookie(1, 7), 1);
  source.add(kSample, {0, 5}, source.cookie(1, 7), 1);
  source.add(kSample, {0, 0}, source.cookie(1, 8), 1);
  source.add(kKfree, {0x10}, source.cookie(1, 8), 1);
  auto made = aggregate(source, {}, {});
  REQUIRE(made.ok());
  REQUIRE(made->size() == 2);
  CHECK(made->sample(0).values[0] == 3'000'000'000'005);
  CHECK(made->sample(1).values[0] == 1);
  CHECK(made->total() == 3'000'000'000'006);
  CHECK(made->notes.empty());

  source.add(kSample, {0, ~uint64_t{0}}, source.cookie(1, 7), 1);
  made = aggregate(source, {}, {});
  REQUIRE(made.ok());
  CHECK(made->saturated());
  CHECK(made->notes.size() == 1);
}

}  // namespace stackmap
