// SPDX-License-Identifier: Apache-2.0
#include "session/self_limits.h"

#include "support/catch.h"

using namespace stackmap;

namespace {

constexpr uint64_t kTick = SelfLimits::kTickNs;

}  // namespace

TEST_CASE("over a long time the share of CPU time holds") {
  // Recording costs a whole CPU, counting next to nothing: the worst there is.
  for (const double percent : {1.0, 5.0, 25.0}) {
    SelfLimits limits(percent, 0);
    uint64_t cpu = 0;
    bool throttled = limits.update(0, 0, 0).throttle;
    REQUIRE_FALSE(throttled);
    constexpr uint64_t kTicks = 10000;
    for (uint64_t tick = 1; tick <= kTicks; ++tick) {
      cpu += throttled ? kTick / 1000 : kTick;
      throttled = limits.update(tick * kTick, cpu, 0).throttle;
    }
    const double used = 100.0 * static_cast<double>(cpu) / static_cast<double>(kTicks * kTick);
    INFO(percent);
    // What was saved up at the start, and the tick in which it is noticed.
    CHECK(used <= percent * 1.001 + 100.0 * static_cast<double>(kTick) / static_cast<double>(kTicks * kTick));
    CHECK(used > percent * 0.9);
    CHECK(limits.cpu_reached() > 10);
  }
}

TEST_CASE("who stays below the share is left alone, and what is saved up carries a burst") {
  SelfLimits limits(10, 0);
  uint64_t cpu = 0;
  (void)limits.update(0, 0, 0);
  for (uint64_t tick = 1; tick <= 1000; ++tick) {
    cpu += kTick / 20;
    REQUIRE_FALSE(limits.update(tick * kTick, cpu, 0).throttle);
  }
  // A second's share of 10 % is one tick of a whole CPU.
  cpu += kTick;
  CHECK_FALSE(limits.update(1001 * kTick, cpu, 0).throttle);
  cpu += kTick;
  CHECK(limits.update(1002 * kTick, cpu, 0).throttle);
  CHECK(limits.cpu_reached() == 1);
}

TEST_CASE("above the ceiling of memory the map is shed once, and then events are throttled") {
  SelfLimits limits(0, 1000);
  auto advice = limits.update(0, 0, 1000);
  CHECK_FALSE((advice.shed || advice.throttle));
  advice = limits.update(1, 0, 1001);
  CHECK(advice.shed);
  CHECK_FALSE(advice.throttle);
  advice = limits.update(2, 0, 1001);
  CHECK_FALSE(advice.shed);
  CHECK(advice.throttle);
  advice = limits.update(3, 0, 999);
  CHECK_FALSE((advice.shed || advice.throttle));
  CHECK(limits.update(4, 0, 2000).shed);
  CHECK(limits.memory_reached() == 2);
}
