// SPDX-License-Identifier: Apache-2.0
// Kernel symbols from /proc/kallsyms: the fallback where the kernel cannot be asked, held to the kernel's own "%pS" and
// "%pB" address for address.
//
// What it follows (kernel/kallsyms.c, kernel/module/kallsyms.c; compared with a running 6.18):
// - A line is "address type name[\t[module]]", address in hex. A symbol ends where the next different address begins.
//   Of several names of one address the first in the file is taken. Names repeat: nothing is looked up by name.
// - The kernel's own symbols count only inside [_stext, _etext) and [_sinittext, _einittext). A kernel that lists data
//   too (CONFIG_KALLSYMS_ALL, known by its "_end") names [_stext, _end) and [__init_begin, __init_end).
// - What is no such line is skipped.
// - Pages listed as [__builtin__ftrace] or [__builtin__kprobes] are named by neither format, so not here either.
// - If every address is zero they are hidden: an error (kPrivilege), never names.
//
// Known differences from the kernel, all where the file does not say where a symbol ends:
// - BPF programs and trampolines (listed as [bpf], printed without it, as the kernel does): the size is the distance to
//   the next listed address, at most kBpfReach, where the kernel knows the image's. An address past the end of an image
//   can so get its name.
// - The last text symbol of a module ends at its page's end or at the next listed address.
// - .llvm.<hash> suffixes of kernels built with Clang's LTO before 6.11 are kept.
//
// A snapshot: programs and modules that come later are not in it; load again. Once made it is not changed, so any
// number of threads may use one. Memory: 16 bytes a symbol and the names, once each address; 5 MB for 122,000 lines.
// While a text is read, which is not trusted, at most kMemoryBase and kMemoryFactor bytes for each byte of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "process/kernel_symbol.h"

namespace stackmap {

class Kallsyms : public KernelNamer {
 public:
  // Longest line that is read; a longer one is malformed. KSYM_NAME_LEN is 512, MODULE_NAME_LEN 56.
  static constexpr size_t kMaxLine = 1024;
  // Most that is read of a file; a larger one is an error (kFailed).
  static constexpr uint64_t kMaxBytes = uint64_t{256} << 20;
  static constexpr size_t kMemoryBase = size_t{8} << 20;
  static constexpr size_t kMemoryFactor = 16;
  static constexpr uint64_t kBpfReach = 64 << 10;
  static constexpr uint64_t kModulePage = 4096;

  // kPrivilege: the file cannot be read, or hides its addresses. kNotFound: there is none (no CONFIG_KALLSYMS, no
  // /proc). kCorrupt: it lacks the symbols that bound the kernel's text.
  static Result<Kallsyms> load(const std::string& path = "/proc/kallsyms");
  // The same from text; `name` is what errors and source() call it.
  static Result<Kallsyms> parse(std::string_view text, std::string name = "kallsyms");

  KernelSymbol find(uint64_t address, AddressKind kind) const;
  Result<std::vector<KernelSymbol>> name(std::span<const uint64_t> addresses, AddressKind kind) override;
  std::string source() const override { return name_; }

 private:
  friend class KallsymsParser;

  struct Symbol {
    uint64_t address = 0;
    uint32_t name_at = 0;     // in names_
    uint16_t name_size = 0;   // 0: a bound without a name
    uint16_t owner : 15 = 0;  // index in owners_
    uint16_t text : 1 = 0;
  };
  static constexpr uint16_t kBpfOwner = 1;
  static constexpr uint16_t kMaxOwner = 0x7fff;

  struct Range {
    uint64_t first = 0;
    uint64_t end = 0;
    bool holds(uint64_t address) const { return address >= first && address < end; }
  };
  struct Found {
    const Symbol* symbol = nullptr;
    uint64_t size = 0;
  };

  Kallsyms() = default;
  Found find_kernel(uint64_t address) const;
  Found find_other(uint64_t address) const;
  uint64_t other_end(size_t index) const;

  std::string name_;
  std::string names_;                // one after another, no separators
  std::vector<std::string> owners_;  // module names; [0] is the kernel, [1] bpf
  // Each sorted by address, one symbol an address.
  std::vector<Symbol> kernel_;
  std::vector<Symbol> others_;
  std::vector<Range> ranges_;  // where kernel_ is valid
};

}  // namespace stackmap
