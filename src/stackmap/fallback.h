// SPDX-License-Identifier: Apache-2.0
// Why a stack got no cookie, and what an intern returns. A stack without a cookie is recorded in full by the caller.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stackmap/cookie.h"

namespace stackmap {

enum class Fallback : uint8_t {
  kNone,            // it has a cookie
  kFull,            // the map holds `capacity` stacks, and this is not one of them
  kProbes,          // the slots in reach of its hash are taken by other stacks
  kArena,           // the frames no longer fit below the arena's ceiling, or the system has no memory
  kBeingPublished,  // another thread is storing a stack of the same hash, most often this one; not waited for
  kTooDeep,         // more frames than `max_depth`
  kOff,             // the map is off, or there is none
  kEmpty,           // no frames: such a stack is never stored
};
inline constexpr size_t kFallbackCount = 8;  // kNone included

// Counts by outcome. Index kNone counts the cookies handed out.
using OutcomeCounts = std::array<uint64_t, kFallbackCount>;

// "full", "probes", "arena", "being_published", "too_deep", "off", "empty"; "none" for kNone.
std::string_view fallback_name(Fallback fallback);

struct Interned {
  Cookie cookie;  // meaningful if stored()
  Fallback fallback = Fallback::kNone;
  bool is_new = false;  // this call stored the stack: exactly one call a stack and generation says so

  bool stored() const { return fallback == Fallback::kNone; }
};

}  // namespace stackmap
