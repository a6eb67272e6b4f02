// SPDX-License-Identifier: Apache-2.0
#include "capture/ledger.h"

#include <algorithm>

namespace stackmap {

namespace {

auto find_in(auto& entries, std::string_view name) {
  return std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == name; });
}

}  // namespace

void Ledger::set(std::string name, uint64_t value) {
  const auto it = find_in(entries_, name);
  if (it != entries_.end()) {
    it->second = value;
  } else {
    entries_.emplace_back(std::move(name), value);
  }
}

void Ledger::add(std::string_view name, uint64_t value) {
  set(std::string(name), get(name) + value);
}

uint64_t Ledger::get(std::string_view name) const {
  const auto it = find_in(entries_, name);
  return it == entries_.end() ? 0 : it->second;
}

bool Ledger::has(std::string_view name) const {
  return find_in(entries_, name) != entries_.end();
}

}  // namespace stackmap
