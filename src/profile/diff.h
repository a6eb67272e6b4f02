// SPDX-License-Identifier: Apache-2.0
// Two profiles against each other: one profile of two columns, before and after.
//
// A function's weight includes what it calls, so a change in a callee shows in every caller. Stacks that are gone are
// samples and rows like any other. Sums saturate as a profile's do.
#pragma once

#include <vector>

#include "base/result.h"
#include "profile/profile.h"
#include "profile/top.h"

namespace stackmap {

inline constexpr size_t kBefore = 0;  // columns
inline constexpr size_t kAfter = 1;

struct ProfileDiff {
  Profile joined;
  std::vector<FunctionRow> functions;  // the largest change first, then by name; tasks are not among them
};

// Compares what the profiles were made for, their first columns. kUsage if the units of these differ.
Result<ProfileDiff> diff_profiles(const Profile& before, const Profile& after);

// By how much they differ, either way.
uint64_t distance(uint64_t before, uint64_t after);

}  // namespace stackmap
