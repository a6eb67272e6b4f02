// SPDX-License-Identifier: Apache-2.0
// What this process has mapped, by the kernel's own count: holds code that takes its pages from the kernel to the
// memory that it promises.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace stackmap_test {

// What the C library may map for itself between two looks, and what it may give back.
inline constexpr uint64_t kMappingNoise = uint64_t{1} << 20;

// Bytes. Pages that were never touched count.
inline uint64_t mapped_memory() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// What was mapped since a look and is still; 0 if less is.
inline uint64_t mapped_since(uint64_t before) {
  const uint64_t now = mapped_memory();
  return now > before ? now - before : 0;
}

}  // namespace stackmap_test
