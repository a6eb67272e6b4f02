// SPDX-License-Identifier: Apache-2.0
#include "stackmap/stack_hash.h"

#include <cstddef>

namespace stackmap {

namespace {

// 2^64 divided by the golden ratio, made odd: spreads low bits over the high ones.
constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;

// The upper bits of the product depend on all bits of both chains, and the table index is taken from them.
uint32_t mix(uint64_t high, uint64_t low) {
  return static_cast<uint32_t>(((high << 32 ^ low) * kSpread) >> 32);
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t crc_stack_hash(std::span<const uint64_t> frames, uint32_t seed) {
  const uint64_t* frame = frames.data();
  const size_t depth = frames.size();
  // Two chains, since the instruction takes three cycles but another can start every cycle.
  uint64_t even = seed;
  uint64_t odd = depth;
  size_t i = 0;
  for (; i + 2 <= depth; i += 2) {
    even = __builtin_ia32_crc32di(even, frame[i]);
    odd = __builtin_ia32_crc32di(odd, frame[i + 1]);
  }
  if (i < depth) {
    even = __builtin_ia32_crc32di(even, frame[i]);
  }
  return mix(even, odd);
}
#endif

StackHash choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") != 0) {
    return crc_stack_hash;
  }
#endif
  return portable_stack_hash;
}

}  // namespace

uint32_t portable_stack_hash(std::span<const uint64_t> frames, uint32_t seed) {
  uint64_t even = seed;
  uint64_t odd = frames.size();
  size_t i = 0;
  const auto step = [](uint64_t chain, uint64_t frame) {
    chain = (chain ^ frame) * kSpread;
    return chain ^ chain >> 32;
  };
  for (; i + 2 <= frames.size(); i += 2) {
    even = step(even, frames[i]);
    odd = step(odd, frames[i + 1]);
  }
  if (i < frames.size()) {
    even = step(even, frames[i]);
  }
  return mix(even, odd ^ even >> 32);
}

StackHash fastest_stack_hash() {
  static const StackHash chosen = choose();
  return chosen;
}

}  // namespace stackmap
