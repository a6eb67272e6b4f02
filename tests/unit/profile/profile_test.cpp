// SPDX-License-Identifier: Apache-2.0
#include "profile/profile.h"

#include <algorithm>

#include "support/catch.h"

namespace stackmap {

TEST_CASE("a frame is one if name and kind are the same", "[profile]") {
  Profile profile;
  const FrameId task = profile.frame("a", FrameKind::kTask);
  const FrameId kernel = profile.frame("a", FrameKind::kKernel);
  CHECK(task != kernel);
  CHECK(profile.frame("a", FrameKind::kTask) == task);
  CHECK(profile.frame(kernel) == Frame{"a", FrameKind::kKernel});
  CHECK(profile.frame_count() == 2);
}

TEST_CASE("equal stacks are one sample and weights add up", "[profile]") {
  Profile profile({{"bytes", Unit::kBytes}, {"count", Unit::kEvents}, {"more", Unit::kEvents}});
  using Values = std::vector<uint64_t>;
  const FrameId a = profile.frame("a", FrameKind::kTask);
  const FrameId b = profile.frame("b", FrameKind::kKernel);
  profile.add(std::vector<FrameId>{a, b}, Values{10, 1, 100});
  profile.add(std::vector<FrameId>{b, a}, Values{5, 2, 200});
  profile.add(std::vector<FrameId>{a, b}, Values{7, 3, 300});
  profile.add({}, Values{1, 1, 0});
  REQUIRE(profile.size() == 3);
  CHECK(std::ranges::equal(profile.sample(0).values, Values{17, 4, 400}));
  CHECK(std::ranges::equal(profile.sample(1).values, Values{5, 2, 200}));
  CHECK(std::ranges::equal(profile.sample(2).values, Values{1, 1, 0}));
  CHECK(profile.sample(0).frames[1] == b);
  CHECK(profile.sample(2).frames.empty());
  CHECK(profile.totals() == Values{23, 7, 600});
  CHECK(profile.total() == 23);
  CHECK(profile.unit() == Unit::kBytes);
  CHECK_FALSE(profile.saturated());
}

TEST_CASE("names survive growth and a move of the profile", "[profile]") {
  Profile profile;
  for (int i = 0; i < 5000; ++i) {
    const FrameId id = profile.frame("f" + std::to_string(i), FrameKind::kKernel);
    profile.add(std::vector<FrameId>{id}, std::vector<uint64_t>{1});
  }
  Profile moved = std::move(profile);
  CHECK(moved.frame("f4321", FrameKind::kKernel) == 4321);
  CHECK(moved.frame_count() == 5000);
  CHECK(moved.frame(moved.sample(77).frames[0]).name == "f77");
}

TEST_CASE("sums saturate and say so", "[profile]") {
  Profile profile;
  const FrameId a = profile.frame("a", FrameKind::kTask);
  profile.add(std::vector<FrameId>{a}, std::vector<uint64_t>{~uint64_t{0} - 1});
  CHECK_FALSE(profile.saturated());
  profile.add(std::vector<FrameId>{a}, std::vector<uint64_t>{5});
  CHECK(profile.saturated());
  CHECK(profile.total() == ~uint64_t{0});
  CHECK(profile.sample(0).values.front() == ~uint64_t{0});
}

TEST_CASE("values and shares in words", "[profile]") {
  CHECK(value_text(Unit::kEvents, 1234567) == "1,234,567");
  CHECK(value_text(Unit::kBytes, 12595) == "12.3 KiB");
  CHECK(value_text_with_unit(Unit::kEvents, 1) == "1 event");
  CHECK(value_text_with_unit(Unit::kEvents, 0) == "0 events");
  CHECK(value_text_with_unit(Unit::kBytes, 1) == "1 byte");
  CHECK(value_text_with_unit(Unit::kBytes, 12595) == "12.3 KiB (12,595 bytes)");
  Profile bytes({{"bytes", Unit::kBytes}, {"count", Unit::kEvents}});
  bytes.add({}, std::vector<uint64_t>{12595, 1});
  CHECK(total_text(bytes) == "12.3 KiB (12,595 bytes) in 1 event");
  CHECK(total_text(Profile()) == "0 events");
  CHECK(percent_text(1, 3) == "33.3%");
  CHECK(percent_text(2, 3) == "66.7%");
  CHECK(percent_text(3, 3) == "100.0%");
  CHECK(percent_text(1, 1000000) == "<0.1%");
  CHECK(percent_text(0, 10) == "0.0%");
  CHECK(percent_text(5, 0) == "0.0%");
}

}  // namespace stackmap
