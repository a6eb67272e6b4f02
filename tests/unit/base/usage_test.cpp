// SPDX-License-Identifier: Apache-2.0
#include "base/usage.h"

#include "support/catch.h"

using namespace stackmap;

TEST_CASE("the memory of this process is told in bytes") {
  const auto resident = resident_memory();
  REQUIRE(resident);
  CHECK(*resident > 1 << 20);
  CHECK(*resident % 4096 == 0);
}

TEST_CASE("CPU time grows with work") {
  const uint64_t before = process_cpu_ns();
  volatile uint64_t sum = 0;
  while (process_cpu_ns() - before < 1000000) {
    sum = sum + 1;
  }
  CHECK(sum > 0);
}
