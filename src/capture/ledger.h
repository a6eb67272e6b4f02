// SPDX-License-Identifier: Apache-2.0
// The loss ledger as it is stored: named counters, cumulative from the start of the capture. What a name counts is
// documented in FORMAT.md; unknown names are kept and shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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
  const std::vector<std::pair<std::string, uint64_t>>& entries() const {
    return entries_;
  }  // in the order of insertion
  bool empty() const { return entries_.empty(); }

 private:
  std::vector<std::pair<std::string, uint64_t>> entries_;
};

}  // namespace stackmap
