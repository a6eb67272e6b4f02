// SPDX-License-Identifier: Apache-2.0
#include "profile/profile.h"

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
  Profile profile;
  const FrameId a = profile.frame("a", FrameKind::kTask);
  const FrameId b = profile.frame("b", FrameKind::kKernel);
  profile.add(std::vector<FrameId>{a, b}, 10, 1);
  profile.add(std::vector<FrameId>{b, a}, 5, 2);
  profile.add(std::vector<FrameId>{a, b}, 7, 3);
  profile.add({}, 1, 1);
  REQUIRE(profile.size() == 3);
  CHECK(profile.sample(0).value == 17);
  CHECK(profile.sample(0).count == 4);
  CHECK(profile.sample(0).frames[1] == b);
  CHECK(profile.sample(2).frames.empty());
  CHECK(profile.total_value() == 23);
  CHECK(profile.total_count() == 7);
  CHECK_FALSE(profile.saturated());
}

TEST_CASE("names survive growth and a move of the profile", "[profile]") {
  Profile profile;
  for (int i = 0; i < 5000; ++i) {
    const FrameId id = profile.frame("f" + std::to_string(i), FrameKind::kKernel);
    profile.add(std::vector<FrameId>{id}, 1, 1);
  }
  Profile moved = std::move(profile);
  CHECK(moved.frame("f4321", FrameKind::kKernel) == 4321);
  CHECK(moved.frame_count() == 5000);
  CHECK(moved.frame(moved.sample(77).frames[0]).name == "f77");
}

TEST_CASE("sums saturate and say so", "[profile]") {
  Profile profile;
  const FrameId a = profile.frame("a", FrameKind::kTask);
  profile.add(std::vector<FrameId>{a}, ~uint64_t{0} - 1, 1);
  CHECK_FALSE(profile.saturated());
  profile.add(std::vector<FrameId>{a}, 5, 1);
  CHECK(profile.saturated());
  CHECK(profile.total_value() == ~uint64_t{0});
  CHECK(profile.sample(0).value == ~uint64_t{0});
}

TEST_CASE("values and shares in words", "[profile]") {
  CHECK(value_text(Unit::kEvents, 1234567) == "1,234,567");
  CHECK(value_text(Unit::kBytes, 12595) == "12.3 KiB");
  CHECK(value_text_with_unit(Unit::kEvents, 1) == "1 event");
  CHECK(value_text_with_unit(Unit::kEvents, 0) == "0 events");
  CHECK(value_text_with_unit(Unit::kBytes, 1) == "1 byte");
  CHECK(value_text_with_unit(Unit::kBytes, 12595) == "12.3 KiB (12,595 bytes)");
  CHECK(percent_text(1, 3) == "33.3%");
  CHECK(percent_text(2, 3) == "66.7%");
  CHECK(percent_text(3, 3) == "100.0%");
  CHECK(percent_text(1, 1000000) == "<0.1%");
  CHECK(percent_text(0, 10) == "0.0%");
  CHECK(percent_text(5, 0) == "0.0%");
}

}  // namespace stackmap
