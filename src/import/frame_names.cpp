// SPDX-License-Identifier: Apache-2.0
#include "import/frame_names.h"

#include <charconv>
#include <optional>

namespace stackmap {

namespace {

std::optional<uint64_t> real_address(std::string_view text) {
  if (!text.starts_with("0x")) {
    return std::nullopt;
  }
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  // Only what would be printed just so again.
  const bool whole = code == std::errc() && end == text.data() + text.size() && KernelSymbol().text(value) == text;
  return whole && value >= FrameNames::kFirstReal ? std::optional(value) : std::nullopt;
}

KernelSymbol name_alone(std::string_view text) {
  return {std::string(text), 0, KernelSymbol::kNameAlone, ""};
}

KernelSymbol kernel_symbol(std::string_view text) {
  KernelSymbol symbol = parse_kernel_symbol(text);
  if (symbol.known() && symbol.text(0) == text) {
    return symbol;
  }
  // "name [module]", as the kernel prints it without the option sym-offset; or "[FTRACE TRAMPOLINE]".
  symbol = name_alone(text);
  const size_t open = text.rfind(" [");
  if (text.ends_with(']') && open != std::string_view::npos && open != 0 && open + 3 < text.size()) {
    symbol.name = text.substr(0, open);
    symbol.module = text.substr(open + 2, text.size() - open - 3);
  }
  return symbol;
}

}  // namespace

uint64_t FrameNames::address(std::string_view text) {
  const auto [found, is_new] = addresses_.try_emplace(std::string(text), 0);
  if (is_new) {
    const bool kernel = kind_ == FrameText::kKernel;
    const auto real = kernel ? real_address(text) : std::nullopt;
    found->second = real.value_or(kFirst + symbols_.size());
    if (!real) {
      symbols_.emplace_back(found->second, kernel ? kernel_symbol(text) : name_alone(text));
    }
  }
  return found->second;
}

}  // namespace stackmap
