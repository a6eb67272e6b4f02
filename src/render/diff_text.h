// SPDX-License-Identifier: Apache-2.0
// The differences of two profiles as text.
//
// Percentages are of the row's own weight before, or of the whole before where a line says so; what was not there
// before is "new", never infinite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/file.h"
#include "profile/diff.h"

namespace stackmap {

// "+40", "-1.0 KiB", "0".
std::string change_text(Unit unit, uint64_t before, uint64_t after);
// "+200.0%", "-100.0%", "new" (nothing before), "0.0%" (nothing in either).
std::string change_percent(uint64_t before, uint64_t after);

// Functions by change, up to `limit` (0 is all). A write that failed is reported by out.flush().
void write_diff_table(const ProfileDiff& diff, size_t limit, TextWriter& out);

// `stack before after` a line, by the rules of folded.h, stacks of either profile, sorted.
void write_diff_folded(const ProfileDiff& diff, TextWriter& out);

}  // namespace stackmap
