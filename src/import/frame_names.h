// SPDX-License-Identifier: Apache-2.0
// Addresses for frames that are known as text alone. Every distinct text gets an address of its own, from kFirst up by
// one; they tell frames apart and mean nothing else. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "process/kernel_symbol.h"

namespace stackmap {

// What the text of a frame is.
enum class FrameText : uint8_t {
  // As the kernel prints it: "name+0xoff/0xsize [module]", "name [module]". One that is an address
  // ("0xffffffffa0000000", at or above FrameNames::kFirstReal) keeps it.
  kKernel,
  kName,  // a name, all of it
};

class FrameNames {
 public:
  static constexpr uint64_t kFirst = 0x1000;
  static constexpr uint64_t kFirstReal = uint64_t{1} << 31;

  explicit FrameNames(FrameText kind) : kind_(kind) {}

  // The address of a frame's text, new or known.
  uint64_t address(std::string_view text);
  // Every made-up address with what it is called, in order of address. text() of each is the text as it was given.
  const std::vector<std::pair<uint64_t, KernelSymbol>>& symbols() const { return symbols_; }

 private:
  FrameText kind_;
  std::unordered_map<std::string, uint64_t> addresses_;
  std::vector<std::pair<uint64_t, KernelSymbol>> symbols_;
};

}  // namespace stackmap
