// SPDX-License-Identifier: Apache-2.0
// Sums of what a file claims, which may be anything. Thread-safe.
#pragma once

#include <cstdint>
#include <limits>

namespace stackmap {

// Stays at the largest number where the sum would be larger.
inline void add_saturating(uint64_t& sum, uint64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) {
    sum = std::numeric_limits<uint64_t>::max();
  }
}

}  // namespace stackmap
