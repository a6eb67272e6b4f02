// SPDX-License-Identifier: Apache-2.0
// Holds a decoder to the memory that its header promises: while one of these lives, what operator new has handed out
// and not got back must stay within so many bytes; else the program aborts, and a fuzzer's input counts as a crash.
// zstd's own memory, and pages that the code maps itself, are not counted. One at a time, one thread.
#pragma once

#include <cstddef>

namespace stackmap_test {

class AllocationBound {
 public:
  explicit AllocationBound(size_t bytes);
  ~AllocationBound();  // prints the peak and aborts if it was above the bound
  // Bytes that are handed out at this moment and were not when this was made.
  size_t held() const;
  AllocationBound(const AllocationBound&) = delete;
  AllocationBound& operator=(const AllocationBound&) = delete;

 private:
  size_t bytes_;
};

}  // namespace stackmap_test
