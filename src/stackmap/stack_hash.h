// SPDX-License-Identifier: Apache-2.0
// 32-bit seeded hashes of a stack. Thread-safe.
//
// On x86-64 with SSE4.2 two interleaved CRC-32C chains, mixed by a multiplication; elsewhere two multiplicative chains.
// Equality of stacks is never decided by a hash. A CRC is linear, so a seed does not stop a process from making stacks
// of its own collide: they then become fallbacks, at no more than the bounded cost of any other stack.
#pragma once

#include <cstdint>
#include <span>

namespace stackmap {

using StackHash = uint32_t (*)(std::span<const uint64_t> frames, uint32_t seed);

// The fastest for this processor; the choice is made once.
StackHash fastest_stack_hash();
uint32_t portable_stack_hash(std::span<const uint64_t> frames, uint32_t seed);

}  // namespace stackmap
