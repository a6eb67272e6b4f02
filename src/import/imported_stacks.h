// SPDX-License-Identifier: Apache-2.0
// The stacks of an import, by cookie: those that a text gives with their cookies, or those that get one here.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "stackmap/cookie.h"

namespace stackmap {

class ImportedStacks {
 public:
  // Where a stack's frames are.
  struct Place {
    size_t first = 0;
    uint32_t depth = 0;
  };

  // A stack with the cookie that it has. False if the cookie has other frames already.
  bool add(Cookie cookie, std::span<const uint64_t> frames);
  // The cookie of a stack, new or known: of generation 1, slots from 0 up. Not beside add().
  Cookie intern(std::span<const uint64_t> frames);

  bool contains(Cookie cookie) const { return places_.contains(cookie); }
  size_t size() const { return places_.size(); }
  // In order of their cookies, so one generation after the other.
  const std::map<Cookie, Place>& places() const { return places_; }
  std::span<const uint64_t> frames(const Place& place) const {
    return std::span(frames_).subspan(place.first, place.depth);
  }

 private:
  Place keep(std::span<const uint64_t> frames);

  std::vector<uint64_t> frames_;
  std::map<Cookie, Place> places_;
  std::unordered_multimap<uint64_t, Cookie> by_hash_;  // of intern()'s
};

}  // namespace stackmap
