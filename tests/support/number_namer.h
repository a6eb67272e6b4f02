// SPDX-License-Identifier: Apache-2.0
// Names every address by its number.
#pragma once

#include <string>
#include <vector>

#include "process/kernel_symbol.h"

namespace stackmap_test {

class NumberNamer final : public stackmap::KernelNamer {
 public:
  stackmap::Result<std::vector<stackmap::KernelSymbol>> name(std::span<const uint64_t> addresses,
                                                             stackmap::AddressKind) override {
    std::vector<stackmap::KernelSymbol> symbols;
    for (const uint64_t address : addresses) {
      symbols.push_back({"f" + std::to_string(address), 1, 16, ""});
    }
    return symbols;
  }
  std::string source() const override { return "numbers"; }
};

}  // namespace stackmap_test
