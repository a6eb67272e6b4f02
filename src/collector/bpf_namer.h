// SPDX-License-Identifier: Apache-2.0
// Kernel symbols from the kernel itself: "%pS" and "%pB" through a BPF program that runs when it is asked to. Some
// microseconds an address. Needs Linux 5.14. Not thread-safe.
#pragma once

#include <memory>

#include "base/result.h"
#include "process/kernel_symbol.h"

struct symbol_bpf;

namespace stackmap {

class BpfNamer : public KernelNamer {
 public:
  static Result<std::unique_ptr<BpfNamer>> create();
  ~BpfNamer() override;

  Result<std::vector<KernelSymbol>> name(std::span<const uint64_t> addresses, AddressKind kind) override;
  std::string source() const override { return "the kernel (%pB)"; }
  // The kernel's text of one address, unparsed.
  Result<std::string> text(uint64_t address, AddressKind kind);

 private:
  explicit BpfNamer(symbol_bpf* skeleton) : skeleton_(skeleton) {}
  symbol_bpf* skeleton_;
};

}  // namespace stackmap
