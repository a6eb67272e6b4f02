// SPDX-License-Identifier: Apache-2.0
#include "symbolize/kallsyms.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "symbolize/kallsyms_parser.h"

namespace stackmap {

namespace {

// `address` + `bytes`, or the highest address.
uint64_t add_saturated(uint64_t address, uint64_t bytes) {
  return address > UINT64_MAX - bytes ? UINT64_MAX : address + bytes;
}

// The end of the page that `address` is in, or the highest address.
uint64_t page_end(uint64_t address, uint64_t page) {
  return add_saturated(address - address % page, page);
}

// Index of the last symbol at or before `address`; nothing if all are behind it.
template <typename Symbols>
std::optional<size_t> last_at(const Symbols& symbols, uint64_t address) {
  const auto after = std::upper_bound(symbols.begin(), symbols.end(), address,
                                      [](uint64_t value, const auto& symbol) { return value < symbol.address; });
  if (after == symbols.begin()) {
    return std::nullopt;
  }
  return static_cast<size_t>(after - symbols.begin()) - 1;
}

}  // namespace

Result<Kallsyms> Kallsyms::load(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return errno_error("cannot open " + path);
  }
  KallsymsParser parser(path);
  std::string piece(size_t{64} << 10, '\0');
  for (;;) {
    STACKMAP_TRY_VALUE(n, read_up_to(fd.get(), std::as_writable_bytes(std::span(piece)), path));
    STACKMAP_TRY(parser.feed(std::string_view(piece).substr(0, n)));
    if (n < piece.size()) {
      return parser.finish();
    }
  }
}

Result<Kallsyms> Kallsyms::parse(std::string_view text, std::string name) {
  KallsymsParser parser(std::move(name));
  STACKMAP_TRY(parser.feed(text));
  return parser.finish();
}

Kallsyms::Found Kallsyms::find_kernel(uint64_t address) const {
  const auto range = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& r) { return r.holds(address); });
  const auto at = last_at(kernel_, address);
  if (range == ranges_.end() || !at) {
    return {};
  }
  // The symbol that ends a range is listed, so the last of a range ends with it.
  const uint64_t end = *at + 1 < kernel_.size() ? kernel_[*at + 1].address : range->end;
  return {&kernel_[*at], end - kernel_[*at].address};
}

uint64_t Kallsyms::other_end(size_t index) const {
  const Symbol& symbol = others_[index];
  const Symbol* next = index + 1 < others_.size() ? &others_[index + 1] : nullptr;
  if (symbol.owner != kBpfOwner && next != nullptr && next->owner == symbol.owner && next->text == symbol.text) {
    return next->address;
  }
  const uint64_t limit =
      symbol.owner == kBpfOwner ? add_saturated(symbol.address, kBpfReach) : page_end(symbol.address, kModulePage);
  return next == nullptr ? limit : std::min(limit, next->address);
}

Kallsyms::Found Kallsyms::find_other(uint64_t address) const {
  const auto at = last_at(others_, address);
  if (!at || others_[*at].name_size == 0) {
    return {};
  }
  const uint64_t end = other_end(*at);
  if (address >= end) {
    return {};
  }
  return {&others_[*at], end - others_[*at].address};
}

KernelSymbol Kallsyms::find(uint64_t address, AddressKind kind) const {
  const uint64_t looked_up = kind == AddressKind::kReturn ? address - 1 : address;
  Found found = find_kernel(looked_up);
  if (found.symbol == nullptr) {
    found = find_other(looked_up);
  }
  if (found.symbol == nullptr) {
    return {};
  }
  const Symbol& symbol = *found.symbol;
  KernelSymbol named;
  named.name = names_.substr(symbol.name_at, symbol.name_size);
  named.offset = address - symbol.address;
  named.size = found.size;
  if (symbol.owner != kBpfOwner) {
    named.module = owners_[symbol.owner];
  }
  return named;
}

Result<std::vector<KernelSymbol>> Kallsyms::name(std::span<const uint64_t> addresses, AddressKind kind) {
  std::vector<KernelSymbol> symbols;
  symbols.reserve(addresses.size());
  for (const uint64_t address : addresses) {
    symbols.push_back(find(address, kind));
  }
  return symbols;
}

}  // namespace stackmap
