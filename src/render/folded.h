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
#include "render/format.h"

namespace stackmap {

// The profile's first column; stacks that weigh nothing are left out. Returns what a reader must know, a sentence each.
// A write that failed is reported by out.flush().
std::vector<std::string> write_folded(const Profile& profile, const FormatOptions& options, TextWriter& out);

// The part of a line before the count.
std::string folded_stack(const Profile& profile, std::span<const FrameId> frames, KernelNames kernel_names);

enum class FramePlace : uint8_t { kLineStart, kWithin };
// One frame by the rules above.
std::string folded_frame(std::string_view name, FramePlace place);

}  // namespace stackmap
