// SPDX-License-Identifier: Apache-2.0
// The loss ledger as it is stored: named counters, cumulative from the start of the capture. What a name counts is
// documented in FORMAT.md; unknown names are kept and shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stackmap {

class Ledger {
 public:
  void set(std::string name, uint64_t value);
  void add(std::string_view name, uint64_t value);
  // 0 for a counter that is not there.
  uint64_t get(std::string_view name) const;
  bool has(std::string_view name) const;
  // In the order of insertion.
  const std::vector<std::pair<std::string, uint64_t>>& entries() const { return entries_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  const uint64_t* find(std::string_view name) const;

  std::vector<std::pair<std::string, uint64_t>> entries_;
  std::unordered_map<std::string, size_t, Hash, std::equal_to<>> index_;  // in entries_
};

}  // namespace stackmap
