// SPDX-License-Identifier: Apache-2.0
// Takes off the frames of the tracing itself at the leaf of a stack, by their symbols, so that one code path is one
// stack whatever attached to the tracepoint. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "process/kernel_symbol.h"

namespace stackmap {

class GlueTrimmer {
 public:
  // With null nothing is trimmed. The namer must outlive the trimmer.
  explicit GlueTrimmer(KernelNamer* namer) : namer_(namer) {}

  // The stack without its leading glue frames. A stack of nothing else is returned whole.
  std::span<const uint64_t> trim(std::span<const uint64_t> frames) {
    // Nearly every stack begins with an address that is known to be no glue.
    if (frames.empty() || plain_[index(frames.front())] == frames.front()) {
      return frames;
    }
    return trim_slowly(frames);
  }

 private:
  static constexpr size_t kPlain = 4096;
  static size_t index(uint64_t address) { return (address ^ (address >> 12)) % kPlain; }
  std::span<const uint64_t> trim_slowly(std::span<const uint64_t> frames);
  const KernelSymbol& symbol(uint64_t address);

  KernelNamer* namer_;
  std::array<uint64_t, kPlain> plain_{};
  std::unordered_map<uint64_t, KernelSymbol> symbols_;
};

}  // namespace stackmap
