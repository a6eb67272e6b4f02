// SPDX-License-Identifier: Apache-2.0
// A namer for several threads: whose turn it is asks the one behind it.
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "process/kernel_symbol.h"

namespace stackmap {

// Thread-safe, as far as the namer behind it is used through this alone. That one must outlive it.
class SharedNamer final : public KernelNamer {
 public:
  explicit SharedNamer(KernelNamer& namer) : namer_(namer) {}
  Result<std::vector<KernelSymbol>> name(std::span<const uint64_t> addresses, AddressKind kind) override {
    const std::lock_guard lock(mutex_);
    return namer_.name(addresses, kind);
  }
  std::string source() const override { return namer_.source(); }

 private:
  std::mutex mutex_;
  KernelNamer& namer_;
};

}  // namespace stackmap
