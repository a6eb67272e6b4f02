// SPDX-License-Identifier: Apache-2.0
#include "stackmap/page_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

namespace stackmap {

Result<PageMemory> PageMemory::allocate(size_t bytes) {
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return errno_error(fmt::format("no memory for {} bytes of the stack map", bytes));
  }
  return adopt(data, bytes);
}

PageMemory PageMemory::adopt(void* data, size_t bytes) {
  PageMemory memory;
  memory.data_ = data;
  memory.bytes_ = bytes;
  return memory;
}

PageMemory::~PageMemory() {
  if (data_ != nullptr) {
    ::munmap(data_, bytes_);
  }
}

}  // namespace stackmap
