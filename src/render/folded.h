// SPDX-License-Identifier: Apache-2.0
// Folded stacks: `a;b;c N`, root first, a line a stack, sorted.
//
// The text suits every reader known to us (flamegraph.pl, speedscope, Firefox Profiler, Perfetto): UTF-8 and LF; N is a
// whole number above 0; at least one ';' a line; ';' in a name becomes ':'; a space before a number that ends a name
// becomes '_', since some read that number as a value; so does each space at either end of a name; a '#' that begins a
// line and all control bytes become \xNN. A stack of one frame gets the root "all". Stacks that become the same line
// are added up.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "profile/profile.h"

namespace stackmap {

enum class KernelNames : uint8_t {
  kPlain,
  kSuffixed,  // they end in "_[k]", by which some tools colour them
};

struct FoldedSummary {
  uint64_t lines = 0;
  uint64_t total = 0;
  uint64_t zero_stacks = 0;  // left out, as they weigh nothing
  uint64_t above_2_53 = 0;   // lines with a value that readers with binary64 numbers will round
  std::vector<std::string> notes;
};

// The profile's first column. A write that failed is reported by out.flush().
FoldedSummary write_folded(const Profile& profile, KernelNames kernel_names, TextWriter& out);

// The part of a line before the count.
std::string folded_stack(const Profile& profile, std::span<const FrameId> frames, KernelNames kernel_names);

enum class FramePlace : uint8_t { kLineStart, kWithin };
// One frame by the rules above.
std::string folded_frame(std::string_view name, FramePlace place);

}  // namespace stackmap
