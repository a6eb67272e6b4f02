// SPDX-License-Identifier: Apache-2.0
#include "fuzz/allocation_bound.h"

#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

// Of the one thread that runs targets; libFuzzer's others allocate too, and are not what is measured.
thread_local bool counting = false;
thread_local size_t live = 0;
thread_local size_t peak = 0;

void* take(size_t size) noexcept {
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (counting && memory != nullptr) {
    live += ::malloc_usable_size(memory);
    peak = live > peak ? live : peak;
  }
  return memory;
}

void* take_or_throw(size_t size) {
  void* const memory = take(size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

void give_back(void* memory) noexcept {
  if (counting && memory != nullptr) {
    // What was there before counting began may go while it lasts.
    const size_t size = ::malloc_usable_size(memory);
    live = live > size ? live - size : 0;
  }
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) {
  return take_or_throw(size);
}
void* operator new[](size_t size) {
  return take_or_throw(size);
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return take(size);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return take(size);
}
void operator delete(void* memory) noexcept {
  give_back(memory);
}
void operator delete[](void* memory) noexcept {
  give_back(memory);
}
void operator delete(void* memory, size_t) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  give_back(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  give_back(memory);
}

namespace stackmap_test {

AllocationBound::AllocationBound(size_t bytes) : bytes_(bytes) {
  live = peak = 0;
  counting = true;
}

size_t AllocationBound::held() const {
  return live;
}

AllocationBound::~AllocationBound() {
  counting = false;
  if (peak > bytes_) {
    (void)std::fprintf(stderr, "%zu bytes were allocated, the bound is %zu\n", peak, bytes_);
    std::abort();
  }
}

}  // namespace stackmap_test
