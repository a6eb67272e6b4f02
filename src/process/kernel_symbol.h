// SPDX-License-Identifier: Apache-2.0
// The name of a kernel address, in the kernel's own terms, and who can give it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stackmap {

// Where an address lies. The name is empty if the address is in no symbol.
struct KernelSymbol {
  std::string name;
  uint64_t offset = 0;  // of the address in the symbol, in bytes
  uint64_t size = 0;    // of the symbol, in bytes; kNameAlone: offset and size are not known
  std::string module;   // empty for the kernel itself; "bpf" for BPF programs where the kernel says so

  // No symbol of a kernel has this size. It marks a name from text that gives no offset and size.
  static constexpr uint64_t kNameAlone = ~uint64_t{0};

  bool known() const { return !name.empty(); }
  bool operator==(const KernelSymbol&) const = default;

  // As the kernel prints it: "name+0xoff/0xsize [module]"; "name [module]" where the size is kNameAlone; "0x..." of
  // `address` where the symbol is not known.
  std::string text(uint64_t address) const;
};

// The inverse of text(): what the kernel's "%pS" and "%pB" give. Text that is no such symbol (a bare address, a name
// alone) is an unknown one. Allocates at most kSymbolMemoryFactor bytes for each byte of the text, and 256.
inline constexpr size_t kSymbolMemoryFactor = 4;
KernelSymbol parse_kernel_symbol(std::string_view text);

// How an address came to be a frame. A return address is looked up as address - 1, so that a call which ends a function
// is not taken for the next one; the offset that is printed stays that of the address itself (the kernel's "%pB").
enum class AddressKind : uint8_t { kReturn, kExact };

// Names kernel addresses. Thread-safety is the implementation's to state.
class KernelNamer {
 public:
  virtual ~KernelNamer() = default;
  // One symbol an address, in order; unknown ones have no name. Fails only if the source as a whole fails.
  virtual Result<std::vector<KernelSymbol>> name(std::span<const uint64_t> addresses, AddressKind kind) = 0;
  // The source, for people: "kernel (%pB)", "/proc/kallsyms".
  virtual std::string source() const = 0;
};

}  // namespace stackmap
