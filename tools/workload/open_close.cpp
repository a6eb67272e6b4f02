// SPDX-License-Identifier: Apache-2.0
// open-close ROUNDS: each round opens and closes /proc/self/stat 500 times. An allocation workload with few distinct
// stacks, the one that the ftrace stack map series measures with.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "gate.h"

int main(int argc, char** argv) {
  workload::Gate gate(argc, argv);
  const uint64_t rounds = workload::count_argument(argc, argv, "ROUNDS");
  gate.before_work();
  for (uint64_t i = 0; i < rounds * 500; ++i) {
    const int fd = ::open("/proc/self/stat", O_RDONLY);
    if (fd < 0) {
      std::perror("open-close: cannot open /proc/self/stat");
      return 1;
    }
    (void)::close(fd);
  }
  gate.after_work();
  return 0;
}
