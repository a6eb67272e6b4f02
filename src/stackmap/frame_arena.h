// SPDX-License-Identifier: Apache-2.0
// Append-only storage for the frames of stacks. What is stored never moves and goes with the arena.
//
// A stored stack is one header word (depth, the caller's tag) and its frames, 8 bytes each, in one chunk of 256 KiB (or
// of the whole limit, if that is less). A stack that does not fit in what is left of a chunk begins the next one.
// Chunks are made when they are needed, and their pages take up memory when they are used: memory follows what is
// stored.
//
// Limits: 64 KiB to 32 GiB, in steps of 64 KiB (the largest page of any kernel that we run on); depth 1 to 32,767.
// Thread safety: append() and at() from any thread. append() is lock-free: it tries again only if another thread's
// append came between, and allocates only if it is the first to need a chunk. Two threads that need the same chunk at
// the same time may both map one, and the loser unmaps its own untouched: the limit holds for memory in use.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "stackmap/page_memory.h"

namespace stackmap {

class FrameArena {
 public:
  static constexpr uint64_t kChunkBytes = uint64_t{256} << 10;
  static constexpr uint64_t kGrain = uint64_t{64} << 10;
  static constexpr uint64_t kMaxLimit = uint64_t{32} << 30;
  // Names a stored stack: its place in the arena, in words. Lower numbers are free for the caller to give a meaning.
  static constexpr uint32_t kFirstHandle = 4;
  static constexpr uint32_t kNoHandle = 0;

  struct Stack {
    uint32_t tag = 0;  // what the caller set, or 0
    std::span<const uint64_t> frames;
  };

  // `limit` in bytes, rounded down to kGrain; kUsage if nothing is left of it or it is too large.
  static Result<FrameArena> create(uint64_t limit);
  // A limit with room for `stacks` stacks of up to `depth` frames, however the depths are mixed.
  static uint64_t limit_for(uint32_t stacks, uint32_t depth);

  FrameArena(FrameArena&& other) noexcept;
  FrameArena& operator=(FrameArena&&) = delete;
  FrameArena(const FrameArena&) = delete;
  FrameArena& operator=(const FrameArena&) = delete;
  ~FrameArena();

  // Copies the frames; the tag is 0. kNoHandle if the limit is reached or the system has no memory.
  uint32_t append(std::span<const uint64_t> frames);
  // For whoever appended the stack, before it gives the handle to others.
  void set_tag(uint32_t handle, uint32_t tag) { header(handle)->tag = tag; }
  // Whether append() has room for `depth` more frames, and the memory is there: it is made ready here. Another thread
  // may take it in between.
  bool make_room(size_t depth);

  // The stack of a handle. What append() wrote must be visible to the caller: it has the handle from an acquire load
  // that saw the store of whoever appended, or appended it itself.
  Stack at(uint32_t handle) const {
    const Header* stored = header(handle);
    return {stored->tag, {reinterpret_cast<const uint64_t*>(stored + 1), stored->depth}};
  }

  uint64_t limit() const { return limit_words_ * 8; }
  uint64_t used() const;  // bytes given to stacks, and the tails of chunks that were too short
  // What the arena takes beside its chunks, in bytes.
  static uint64_t directory_bytes(uint64_t limit) { return (limit + kChunkBytes - 1) / kChunkBytes * sizeof(void*); }

 private:
  static constexpr uint64_t kChunkWords = kChunkBytes / 8;
  struct Header {
    uint32_t depth;
    uint32_t tag;
  };
  static_assert(sizeof(Header) == 8);

  explicit FrameArena(uint64_t limit_words);
  Header* header(uint32_t handle) const {
    // Relaxed: the chunk was there before the handle was published, see at().
    uint64_t* memory = chunks_[handle / kChunkWords].load(std::memory_order_relaxed);
    return reinterpret_cast<Header*>(memory + handle % kChunkWords);
  }
  uint64_t place(uint64_t next, uint64_t words) const;
  size_t chunk_bytes(uint64_t chunk) const;
  uint64_t* chunk(uint64_t index);

  uint64_t limit_words_;
  uint64_t chunk_count_;
  std::unique_ptr<std::atomic<uint64_t*>[]> chunks_;
  alignas(64) std::atomic<uint64_t> next_{kFirstHandle};  // the first word that nobody has
};

}  // namespace stackmap
