// SPDX-License-Identifier: Apache-2.0
#include "import/imported_stacks.h"

#include <algorithm>
#include <string_view>

namespace stackmap {

namespace {

uint64_t hash_of(std::span<const uint64_t> frames) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(frames.data()), frames.size_bytes()});
}

}  // namespace

ImportedStacks::Place ImportedStacks::keep(std::span<const uint64_t> frames) {
  const Place place{frames_.size(), static_cast<uint32_t>(frames.size())};
  frames_.insert(frames_.end(), frames.begin(), frames.end());
  return place;
}

bool ImportedStacks::add(Cookie cookie, std::span<const uint64_t> stack) {
  const auto [held, is_new] = places_.try_emplace(cookie);
  if (is_new) {
    held->second = keep(stack);
  }
  return is_new || std::ranges::equal(frames(held->second), stack);
}

Cookie ImportedStacks::intern(std::span<const uint64_t> stack) {
  const uint64_t hash = hash_of(stack);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (std::ranges::equal(frames(places_.at(it->second)), stack)) {
      return it->second;
    }
  }
  const Cookie cookie(1, static_cast<uint32_t>(places_.size()));
  places_.emplace_hint(places_.end(), cookie, keep(stack));
  by_hash_.emplace(hash, cookie);
  return cookie;
}

}  // namespace stackmap
