// SPDX-License-Identifier: Apache-2.0
// ping-pong TRIPS: two processes on one CPU pass a byte to and fro through pipes, two context switches a trip.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "gate.h"

namespace {

// Both on the CPU that this one happens to be on: then every hand-over is a switch.
void stay_on_this_cpu() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(::sched_getcpu()), &set);
  (void)::sched_setaffinity(0, sizeof(set), &set);
}

bool pass(int from, int to, char& byte) {
  return ::read(from, &byte, 1) == 1 && ::write(to, &byte, 1) == 1;
}

}  // namespace

int main(int argc, char** argv) {
  workload::Gate gate(argc, argv);
  const uint64_t trips = workload::count_argument(argc, argv, "TRIPS");
  int there[2];
  int back[2];
  stay_on_this_cpu();
  if (::pipe(there) != 0 || ::pipe(back) != 0) {
    std::perror("ping-pong: cannot make a pipe");
    return 1;
  }
  gate.before_work();
  const pid_t child = ::fork();
  if (child < 0) {
    std::perror("ping-pong: cannot fork");
    return 1;
  }
  char byte = 0;
  if (child == 0) {
    (void)::close(there[1]);
    while (pass(there[0], back[1], byte)) {
    }
    ::_exit(0);
  }
  (void)::close(there[0]);
  bool good = true;
  for (uint64_t i = 0; i < trips && good; ++i) {
    good = ::write(there[1], &byte, 1) == 1 && ::read(back[0], &byte, 1) == 1;
  }
  (void)::close(there[1]);
  (void)::waitpid(child, nullptr, 0);
  gate.after_work();
  return good ? 0 : 1;
}
