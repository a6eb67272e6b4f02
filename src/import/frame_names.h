// SPDX-License-Identifier: Apache-2.0
// Addresses for frames that are known as text alone. Every distinct text gets an address of its own, from kFirst up by
// one; they tell frames apart and mean nothing else. A text that is an address ("0xffffffffa0000000", at or above
// kFirstReal) keeps it. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "process/kernel_symbol.h"

namespace stackmap {

class FrameNames {
 public:
  static constexpr uint64_t kFirst = 0x1000;
  static constexpr uint64_t kFirstReal = uint64_t{1} << 31;

  // The address of a frame's text, new or known.
  uint64_t address(std::string_view text);
  // Every made-up address with what it is called, in order of address. text() of each is the text as it was given.
  const std::vector<std::pair<uint64_t, KernelSymbol>>& symbols() const { return symbols_; }

 private:
  std::unordered_map<std::string, uint64_t> addresses_;
  std::vector<std::pair<uint64_t, KernelSymbol>> symbols_;
};

}  // namespace stackmap
