// SPDX-License-Identifier: Apache-2.0
#include "process/kernel_symbol.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace stackmap {

namespace {

// "0x" and a number of at most 64 bits at the front of `text`, which is moved past it.
std::optional<uint64_t> take_hex(std::string_view& text) {
  if (!text.starts_with("0x")) {
    return std::nullopt;
  }
  text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (code != std::errc()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

// The first word of the first of any number of " [...]" groups, which must be all there is. Empty if there is no group.
std::optional<std::string_view> module_of(std::string_view text) {
  std::string_view module;
  for (bool first = true; !text.empty(); first = false) {
    const size_t end = text.find(']');
    if (!text.starts_with(" [") || end == std::string_view::npos) {
      return std::nullopt;
    }
    if (first) {
      module = text.substr(2, end - 2);
      module = module.substr(0, module.find(' '));  // what follows is a build-id ("%pSb")
    }
    text.remove_prefix(end + 1);
  }
  return module;
}

// "+0xoff/0xsize [module]", to the end of the text.
std::optional<KernelSymbol> parse_suffix(std::string_view text) {
  text.remove_prefix(1);
  const auto offset = take_hex(text);
  if (!offset || !text.starts_with('/')) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  const auto size = take_hex(text);
  if (!size) {
    return std::nullopt;
  }
  const auto module = module_of(text);
  if (!module) {
    return std::nullopt;
  }
  return KernelSymbol{{}, *offset, *size, std::string(*module)};
}

}  // namespace

std::string KernelSymbol::text(uint64_t address) const {
  if (!known()) {
    return fmt::format("{:#x}", address);
  }
  if (size == kNameAlone) {
    return module.empty() ? name : fmt::format("{} [{}]", name, module);
  }
  if (module.empty()) {
    return fmt::format("{}+{:#x}/{:#x}", name, offset, size);
  }
  return fmt::format("{}+{:#x}/{:#x} [{}]", name, offset, size, module);
}

KernelSymbol parse_kernel_symbol(std::string_view text) {
  // From the right: a name may hold anything, a '+' included, and what follows it may not.
  for (size_t at = text.rfind("+0x"); at != std::string_view::npos && at > 0; at = text.rfind("+0x", at - 1)) {
    if (auto symbol = parse_suffix(text.substr(at))) {
      // For an address in the vsyscall page the kernel names the last symbol it has, with a size below zero.
      if (symbol->size >> 63 != 0) {
        return {};
      }
      symbol->name = text.substr(0, at);
      return std::move(*symbol);
    }
  }
  return {};
}

}  // namespace stackmap
