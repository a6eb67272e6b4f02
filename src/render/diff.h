// SPDX-License-Identifier: Apache-2.0
// Two profiles against each other.
//
// A node's or function's weight includes what it calls, so a change in a callee shows in every caller. Percentages are
// of the row's own weight before, or of the whole before where a line says so; what was not there before is "new",
// never infinite. Stacks that are gone are rows like any other. Sums saturate as a profile's do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "profile/profile.h"

namespace stackmap {

struct DiffNode {
  std::string name;  // display_name()
  FrameKind kind = FrameKind::kKernel;
  uint32_t depth = 0;   // 0 for the outermost frame
  uint32_t parent = 0;  // index of the node; its own for depth 0
  uint64_t before = 0;  // with its callees
  uint64_t after = 0;
  uint64_t self_before = 0;
  uint64_t self_after = 0;
};

struct DiffFunction {
  std::string name;     // display_name()
  uint64_t before = 0;  // of the stacks that it is in, once a stack
  uint64_t after = 0;
  uint64_t self_before = 0;
  uint64_t self_after = 0;
};

struct ProfileDiff {
  Unit unit = Unit::kEvents;
  uint64_t total_before = 0;
  uint64_t total_after = 0;
  std::vector<DiffNode> nodes;          // in preorder, children by name
  std::vector<DiffFunction> functions;  // the largest change first, then by name; tasks are not among them
};

// kUsage if their units differ.
Result<ProfileDiff> diff_profiles(const Profile& before, const Profile& after);

// "+40", "-1.0 KiB", "0".
std::string change_text(Unit unit, uint64_t before, uint64_t after);
// "+200.0%", "-100.0%", "new" (nothing before), "0.0%" (nothing in either).
std::string change_percent(uint64_t before, uint64_t after);

// Functions by change, up to `limit` (0 is all). A write that failed is reported by out.flush().
void write_diff_table(const ProfileDiff& diff, size_t limit, TextWriter& out);

// `stack before after` a line, by the rules of folded.h, stacks of either profile, sorted.
void write_diff_folded(const Profile& before, const Profile& after, TextWriter& out);

}  // namespace stackmap
