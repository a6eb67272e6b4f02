// SPDX-License-Identifier: Apache-2.0
// How a workload keeps step with whoever measures it. With the argument --gate it writes "ready" to stdout and waits
// for a line on stdin before the work, writes "done NANOSECONDS" after it, and waits for another line before it ends:
// so what it does between the two lines is the work and nothing else.
#pragma once

#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"

namespace workload {

class Gate {
 public:
  // Takes --gate out of the arguments.
  Gate(int& argc, char** argv) {
    int kept = 0;
    for (int i = 0; i < argc; ++i) {
      if (std::strcmp(argv[i], "--gate") == 0) {
        gated_ = true;
      } else {
        argv[kept++] = argv[i];
      }
    }
    argc = kept;
  }

  void before_work() {
    if (gated_) {
      std::printf("ready\n");
      wait();
    }
    began_ns_ = stackmap::monotonic_ns();
  }

  void after_work() {
    const uint64_t ns = stackmap::monotonic_ns() - began_ns_;
    if (gated_) {
      std::printf("done %" PRIu64 "\n", ns);
      wait();
    }
  }

 private:
  static void wait() {
    (void)std::fflush(stdout);
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n') {
    }
  }

  bool gated_ = false;
  uint64_t began_ns_ = 0;
};

// The one numeric argument.
inline uint64_t count_argument(int argc, char** argv, const char* usage) {
  char* end = nullptr;
  const unsigned long long count = argc == 2 ? std::strtoull(argv[1], &end, 10) : 0;
  if (count == 0 || *end != '\0') {
    (void)std::fprintf(stderr, "usage: %s [--gate] %s\n", argv[0], usage);
    std::exit(2);
  }
  return count;
}

}  // namespace workload
