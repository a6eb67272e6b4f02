// SPDX-License-Identifier: Apache-2.0
// Any bytes as a kallsyms file: no crash, the same result whole and in pieces, and no name for an address outside of
// its symbol. The first byte is the length of the pieces.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz/allocation_bound.h"
#include "symbolize/kallsyms.h"
#include "symbolize/kallsyms_parser.h"

using namespace stackmap;

namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void check_address(const Kallsyms& whole, const Kallsyms& pieces, uint64_t address) {
  for (const AddressKind kind : {AddressKind::kExact, AddressKind::kReturn}) {
    const KernelSymbol symbol = whole.find(address, kind);
    require(symbol == pieces.find(address, kind));
    if (symbol.known()) {
      const uint64_t looked_up = symbol.offset - (kind == AddressKind::kReturn ? 1 : 0);
      require(looked_up < symbol.size);
      require(address - symbol.offset <= address);
    } else {
      require(symbol == KernelSymbol{});
    }
  }
}

Result<Kallsyms> parse_within_bound(std::string_view text) {
  const stackmap_test::AllocationBound bound(Kallsyms::kMemoryBase + Kallsyms::kMemoryFactor * text.size());
  return Kallsyms::parse(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const size_t step = size_t{1} + data[0];
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto whole = parse_within_bound(text);
  KallsymsParser parser("kallsyms");
  for (size_t at = 0; at < text.size(); at += step) {
    require(parser.feed(text.substr(at, step)).ok());
  }
  const auto pieces = parser.finish();
  require(whole.ok() == pieces.ok());
  if (!whole.ok()) {
    require(whole.error().kind == pieces.error().kind);
    return 0;
  }
  // Addresses from the text itself, so that they lie at and around its symbols.
  std::string_view rest = text;
  for (int line = 0; line < 100 && !rest.empty(); ++line) {
    const uint64_t address = std::strtoull(std::string(rest.substr(0, 16)).c_str(), nullptr, 16);
    for (const uint64_t near : {address - 1, address, address + 1, address + 4095, address + 65536}) {
      check_address(*whole, *pieces, near);
    }
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  }
  return 0;
}
