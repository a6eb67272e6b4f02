// SPDX-License-Identifier: Apache-2.0
#include "base/usage.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <ctime>
#include <thread>

#include "support/catch.h"

using namespace stackmap;

namespace {

// User and system time as getrusage() adds them up.
uint64_t rusage_ns() {
  rusage usage{};
  REQUIRE(::getrusage(RUSAGE_SELF, &usage) == 0);
  const auto ns = [](const timeval& time) {
    return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_usec) * 1000;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

uint64_t thread_ns() {
  timespec time{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

TEST_CASE("the memory of this process is told in bytes, and has what it touches") {
  constexpr size_t kBytes = size_t{64} << 20;
  const auto before = resident_memory();
  REQUIRE(before);
  void* const memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  const auto with = resident_memory();
  (void)::munmap(memory, kBytes);
  const auto after = resident_memory();
  REQUIRE((with && after));
  // The kernel counts pages in batches for each thread: a little is not told yet.
  constexpr size_t kUntold = size_t{2} << 20;
  CHECK(*with + kUntold >= *before + kBytes);
  CHECK(*with <= *before + kBytes + kUntold);
  CHECK(*after + kBytes <= *with + kUntold);
}

TEST_CASE("CPU time is that of the process, all its threads in it") {
  constexpr uint64_t kWork = 20000000;
  const uint64_t before = process_cpu_ns();
  const uint64_t here = thread_ns();
  std::thread other([] {
    while (thread_ns() < kWork) {
    }
  });
  other.join();
  CHECK(process_cpu_ns() - before >= kWork);
  CHECK(thread_ns() - here < kWork);  // so it was the other thread's that was counted
  // The kernel's other account of it, which is told in microseconds and may be a few ticks behind.
  constexpr uint64_t kTicks = 50000000;
  const uint64_t at_least = rusage_ns();
  const uint64_t told = process_cpu_ns();
  CHECK(told + kTicks >= at_least);
  CHECK(told <= rusage_ns() + kTicks);
}
