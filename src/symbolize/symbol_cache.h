// SPDX-License-Identifier: Apache-2.0
// Remembers what a namer said, within a number of bytes.
//
// Two generations: names that are asked for move to the young one; when that is half of the limit, the old one is
// thrown away and the young one takes its place. So memory is bounded, a lookup costs one hash probe or two, and what
// was used lately stays. Only known symbols are kept: an address without a name may get one (a BPF program is loaded),
// and one with a name may get another, for which the owner calls clear().
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "process/kernel_symbol.h"

namespace stackmap {

class SymbolCache : public KernelNamer {
 public:
  // Enough for some 20,000 kernel symbols.
  static constexpr size_t kDefaultBytes = size_t{4} << 20;

  explicit SymbolCache(std::unique_ptr<KernelNamer> source, size_t limit_bytes = kDefaultBytes);

  // Asks the source once for all that it does not remember, each address once. A failure of the source is passed on and
  // leaves the cache as it was.
  Result<std::vector<KernelSymbol>> name(std::span<const uint64_t> addresses, AddressKind kind) override;
  std::string source() const override { return source_->source(); }
  void clear();

  uint64_t hits() const { return hits_; }      // addresses that were answered from memory
  uint64_t misses() const { return misses_; }  // addresses that were not
  size_t entries() const { return young_.symbols.size() + old_.symbols.size(); }
  // What the entries take, in bytes: at most the limit.
  size_t memory() const { return young_.bytes + old_.bytes; }

 private:
  struct Key {
    uint64_t address = 0;
    AddressKind kind = AddressKind::kReturn;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Generation {
    std::unordered_map<Key, KernelSymbol, KeyHash> symbols;
    size_t bytes = 0;
  };

  static size_t cost(const KernelSymbol& symbol);
  const KernelSymbol* look_up(const Key& key);
  void remember(const Key& key, const KernelSymbol& symbol);
  void make_room(size_t bytes);

  std::unique_ptr<KernelNamer> source_;
  size_t half_;  // of the limit
  Generation young_;
  Generation old_;
  uint64_t hits_ = 0;
  uint64_t misses_ = 0;
};

}  // namespace stackmap
