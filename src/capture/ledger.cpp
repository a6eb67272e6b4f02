// SPDX-License-Identifier: Apache-2.0
#include "capture/ledger.h"

namespace stackmap {

const uint64_t* Ledger::find(std::string_view name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &entries_[it->second].second;
}

void Ledger::set(std::string name, uint64_t value) {
  const auto [it, is_new] = index_.try_emplace(std::move(name), entries_.size());
  if (is_new) {
    entries_.emplace_back(it->first, value);
  } else {
    entries_[it->second].second = value;
  }
}

void Ledger::add(std::string_view name, uint64_t value) {
  set(std::string(name), get(name) + value);
}

uint64_t Ledger::get(std::string_view name) const {
  const uint64_t* const value = find(name);
  return value == nullptr ? 0 : *value;
}

bool Ledger::has(std::string_view name) const {
  return find(name) != nullptr;
}

}  // namespace stackmap
