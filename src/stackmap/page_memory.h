// SPDX-License-Identifier: Apache-2.0
// Zeroed memory straight from the kernel. Pages take up memory from their first use on, and go back at once when the
// owner goes: a heap would keep them. Sizes are bytes, rounded up to the page by the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"

namespace stackmap {

class PageMemory {
 public:
  PageMemory() = default;
  // ENOMEM if the kernel has none.
  static Result<PageMemory> allocate(size_t bytes);
  PageMemory(PageMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  PageMemory& operator=(PageMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  PageMemory(const PageMemory&) = delete;
  PageMemory& operator=(const PageMemory&) = delete;
  ~PageMemory();

  uint64_t* words() const { return static_cast<uint64_t*>(data_); }
  size_t bytes() const { return bytes_; }
  // Gives up the ownership; adopt() takes it back.
  void* release() { return std::exchange(data_, nullptr); }
  static PageMemory adopt(void* data, size_t bytes);

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace stackmap
