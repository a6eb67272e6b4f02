// SPDX-License-Identifier: Apache-2.0
#include "session/self_limits.h"

#include <algorithm>
#include <utility>

namespace stackmap {

SelfLimits::Advice SelfLimits::update(uint64_t now_ns, uint64_t cpu_ns, uint64_t resident) {
  Advice advice;
  if (share_ > 0) {
    const double most = share_ * static_cast<double>(kSavedNs);
    if (!begun_) {
      saved_ns_ = most;
    } else {
      saved_ns_ += share_ * static_cast<double>(now_ns - last_ns_) - static_cast<double>(cpu_ns - last_cpu_ns_);
      saved_ns_ = std::min(saved_ns_, most);
    }
    const bool above = saved_ns_ < 0;
    cpu_reached_ += above && !above_cpu_ ? 1 : 0;
    above_cpu_ = above;
  }
  if (memory_ != 0) {
    const bool above = resident > memory_;
    advice.shed = above && !above_memory_;
    memory_reached_ += advice.shed ? 1 : 0;
    advice.throttle = above && above_memory_;  // shedding has not helped
    above_memory_ = above;
  }
  begun_ = true;
  last_ns_ = now_ns;
  last_cpu_ns_ = cpu_ns;
  advice.throttle = advice.throttle || above_cpu_;
  advice.turned = advice.throttle != std::exchange(throttled_, advice.throttle);
  return advice;
}

}  // namespace stackmap
