// SPDX-License-Identifier: Apache-2.0
#include "stackmap/frame_arena.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace stackmap {

namespace {

constexpr uint64_t kNoPlace = std::numeric_limits<uint64_t>::max();

constexpr uint64_t round_up(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

Result<FrameArena> FrameArena::create(uint64_t limit) {
  if (limit < kGrain || limit > kMaxLimit) {
    return make_error(ErrorKind::kUsage, "the frame arena's limit must be from 64 KiB to 32 GiB");
  }
  FrameArena arena(limit / kGrain * kGrain / 8);
  if (arena.chunks_ == nullptr) {
    return errno_error_of(ENOMEM, "no memory for the frame arena's directory");
  }
  return arena;
}

uint64_t FrameArena::limit_for(uint32_t stacks, uint32_t depth) {
  const uint64_t stack_words = uint64_t{depth} + 1;
  const uint64_t words = kFirstHandle + stacks * stack_words;
  if (words <= kChunkWords) {
    return round_up(words * 8, kGrain);
  }
  // The tail that a chunk leaves unused is shorter than the stack that did not fit.
  const uint64_t filled = kChunkWords - (stack_words - 1);
  return std::min((words + filled - 1) / filled * kChunkBytes, kMaxLimit);
}

FrameArena::FrameArena(uint64_t limit_words)
    : limit_words_(limit_words),
      chunk_count_((limit_words + kChunkWords - 1) / kChunkWords),
      chunks_(new (std::nothrow) std::atomic<uint64_t*>[chunk_count_]()) {}

FrameArena::FrameArena(FrameArena&& other) noexcept
    : limit_words_(other.limit_words_),
      chunk_count_(other.chunk_count_),
      chunks_(std::move(other.chunks_)),
      next_(other.next_.load(std::memory_order_relaxed)) {}

FrameArena::~FrameArena() {
  for (uint64_t i = 0; chunks_ != nullptr && i < chunk_count_; ++i) {
    PageMemory::adopt(chunks_[i].load(std::memory_order_relaxed), chunk_bytes(i));
  }
}

size_t FrameArena::chunk_bytes(uint64_t chunk) const {
  return std::min(kChunkWords, limit_words_ - chunk * kChunkWords) * 8;
}

// Where `words` words go if the first free word is `next`: there, or at the start of the next chunk.
uint64_t FrameArena::place(uint64_t next, uint64_t words) const {
  const uint64_t chunk_end = next / kChunkWords * kChunkWords + kChunkWords;
  const uint64_t start = next + words <= chunk_end ? next : chunk_end;
  return words <= kChunkWords && start + words <= limit_words_ ? start : kNoPlace;
}

// The memory of a chunk, made if it is not there. Null if the system has none.
uint64_t* FrameArena::chunk(uint64_t index) {
  // Acquire, with the release in the exchange: whoever reads a stack there through its handle has seen the chunk's
  // address too.
  uint64_t* there = chunks_[index].load(std::memory_order_acquire);
  if (there != nullptr) {
    return there;
  }
  auto made = PageMemory::allocate(chunk_bytes(index));
  if (!made) {
    return nullptr;
  }
  if (!chunks_[index].compare_exchange_strong(there, made->words(), std::memory_order_acq_rel)) {
    return there;
  }
  return static_cast<uint64_t*>(made->release());
}

bool FrameArena::make_room(size_t depth) {
  const uint64_t start = place(next_.load(std::memory_order_relaxed), uint64_t{depth} + 1);
  return start != kNoPlace && chunk(start / kChunkWords) != nullptr;
}

uint32_t FrameArena::append(std::span<const uint64_t> frames) {
  const uint64_t words = frames.size() + 1;
  // Relaxed throughout: `next_` only deals out words, it publishes none of what they hold.
  uint64_t next = next_.load(std::memory_order_relaxed);
  uint64_t start = 0;
  uint64_t* memory = nullptr;
  do {
    start = place(next, words);
    if (start == kNoPlace) {
      return kNoHandle;
    }
    // Before the words are taken, so that a failure wastes none.
    memory = chunk(start / kChunkWords);
    if (memory == nullptr) {
      return kNoHandle;
    }
  } while (!next_.compare_exchange_weak(next, start + words, std::memory_order_relaxed));

  uint64_t* word = memory + start % kChunkWords;
  *reinterpret_cast<Header*>(word) = {static_cast<uint32_t>(frames.size()), 0};
  std::memcpy(word + 1, frames.data(), frames.size() * sizeof(uint64_t));
  return static_cast<uint32_t>(start);
}

uint64_t FrameArena::used() const {
  return (next_.load(std::memory_order_relaxed) - kFirstHandle) * 8;
}

}  // namespace stackmap
