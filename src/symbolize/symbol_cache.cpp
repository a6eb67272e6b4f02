// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbol_cache.h"

#include <utility>

namespace stackmap {

SymbolCache::SymbolCache(std::unique_ptr<KernelNamer> source, size_t limit_bytes)
    : source_(std::move(source)), half_(limit_bytes / 2) {}

size_t SymbolCache::KeyHash::operator()(const Key& key) const {
  // Addresses differ in their low bits most, the buckets are taken from the low bits of this (Fibonacci hashing).
  uint64_t hash = (key.address + (key.kind == AddressKind::kExact ? 1 : 0) * 0x8000'0000'0000'0000U);
  hash *= 0x9e37'79b9'7f4a'7c15U;
  return static_cast<size_t>(hash ^ (hash >> 32));
}

size_t SymbolCache::cost(const KernelSymbol& symbol) {
  // The node with its link and stored hash, its share of the buckets, and the heap's own words.
  constexpr size_t kNode = sizeof(std::pair<const Key, KernelSymbol>) + 5 * sizeof(void*);
  const size_t inside = std::string().capacity();
  const auto heap = [&](const std::string& text) {
    return text.size() > inside ? text.size() + 1 + 2 * sizeof(void*) : size_t{0};
  };
  return kNode + heap(symbol.name) + heap(symbol.module);
}

void SymbolCache::make_room(size_t bytes) {
  if (young_.bytes + bytes > half_) {
    old_ = std::exchange(young_, Generation{});
  }
}

const KernelSymbol* SymbolCache::look_up(const Key& key) {
  if (const auto found = young_.symbols.find(key); found != young_.symbols.end()) {
    return &found->second;
  }
  auto node = old_.symbols.extract(key);
  if (node.empty()) {
    return nullptr;
  }
  const size_t bytes = cost(node.mapped());
  old_.bytes -= bytes;
  make_room(bytes);
  young_.bytes += bytes;
  return &young_.symbols.insert(std::move(node)).position->second;
}

void SymbolCache::remember(const Key& key, const KernelSymbol& symbol) {
  const size_t bytes = cost(symbol);
  if (!symbol.known() || bytes > half_) {
    return;
  }
  make_room(bytes);
  if (young_.symbols.emplace(key, symbol).second) {
    young_.bytes += bytes;
  }
}

Result<std::vector<KernelSymbol>> SymbolCache::name(std::span<const uint64_t> addresses, AddressKind kind) {
  std::vector<KernelSymbol> symbols(addresses.size());
  std::vector<uint64_t> missing;
  std::unordered_map<uint64_t, size_t> index_of;  // in `missing`
  std::vector<std::pair<size_t, size_t>> wanted;  // index in `symbols`, index in `missing`
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (const KernelSymbol* known = look_up({addresses[i], kind})) {
      symbols[i] = *known;
      continue;
    }
    const auto [at, first] = index_of.try_emplace(addresses[i], missing.size());
    if (first) {
      missing.push_back(addresses[i]);
    }
    wanted.emplace_back(i, at->second);
  }
  hits_ += addresses.size() - wanted.size();
  misses_ += wanted.size();
  if (missing.empty()) {
    return symbols;
  }
  STACKMAP_TRY_VALUE(named, source_->name(missing, kind));
  if (named.size() != missing.size()) {
    return make_error(ErrorKind::kFailed, source_->source() + " did not answer for every address");
  }
  for (const auto& [at, from] : wanted) {
    symbols[at] = named[from];
  }
  for (size_t i = 0; i < missing.size(); ++i) {
    remember({missing[i], kind}, named[i]);
  }
  return symbols;
}

void SymbolCache::clear() {
  young_ = {};
  old_ = {};
}

}  // namespace stackmap
