// SPDX-License-Identifier: Apache-2.0
// What a recording may take itself. At its ceiling of CPU time or memory it counts events in place of recording them
// (they are throttled), until it is below again.
//
// CPU time is a share that is saved up while it is not used, for at most kSaved: a burst is recorded, and over any
// longer time the share holds, but for one tick. Above the ceiling of memory the map first begins a new generation,
// which gives back what the one before held; events are throttled if that was not enough. Not thread-safe.
#pragma once

#include <cstdint>

namespace stackmap {

class SelfLimits {
 public:
  static constexpr uint64_t kTickNs = 100000000;    // how often update() is to be called
  static constexpr uint64_t kSavedNs = 1000000000;  // as much of the share is saved up

  // `cpu_percent` of one CPU, `memory` in bytes, resident; 0: no ceiling.
  SelfLimits(double cpu_percent, uint64_t memory) : share_(cpu_percent / 100), memory_(memory) {}

  bool any() const { return share_ > 0 || memory_ != 0; }

  struct Advice {
    bool throttle = false;
    bool turned = false;  // `throttle` is not what it was at the last call (off before the first)
    bool shed = false;    // begin a new generation
  };
  // By the clock, the CPU time that the process has used, and its resident memory, all as of now.
  Advice update(uint64_t now_ns, uint64_t cpu_ns, uint64_t resident);

  // Times that a ceiling was reached.
  uint64_t cpu_reached() const { return cpu_reached_; }
  uint64_t memory_reached() const { return memory_reached_; }

 private:
  double share_;
  uint64_t memory_;
  bool begun_ = false;
  uint64_t last_ns_ = 0;
  uint64_t last_cpu_ns_ = 0;
  double saved_ns_ = 0;
  bool above_cpu_ = false;
  bool above_memory_ = false;
  bool throttled_ = false;
  uint64_t cpu_reached_ = 0;
  uint64_t memory_reached_ = 0;
};

}  // namespace stackmap
