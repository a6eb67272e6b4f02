// SPDX-License-Identifier: Apache-2.0
// The heaviest stacks and functions of a profile. Names are the profile's own, as its source gave them: a writer makes
// them safe. Equal weights are in order of name, so the same profile gives the same rows. Sums saturate as the
// profile's do.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace stackmap {

// A function or bucket. By column: `selfs` of the stacks that end in it, `totals` of the stacks that it is in, once a
// stack however often it recurs.
struct FunctionRow {
  FrameId frame = 0;
  std::vector<uint64_t> selfs;
  std::vector<uint64_t> totals;
};

// Every function and bucket, in the order of their frames; tasks are not among them.
std::vector<FunctionRow> function_rows(const Profile& profile);

enum class FunctionOrder : uint8_t { kSelf, kTotal };
// The same by weight, the heaviest first.
std::vector<FunctionRow> top_functions(const Profile& profile, FunctionOrder order);

// A stack without its task, and the tasks that it is of.
struct StackRow {
  std::vector<FrameId> frames;   // innermost first
  std::vector<FrameId> tasks;    // by name
  std::vector<uint64_t> values;  // by column
};
// Every stack, the heaviest first.
std::vector<StackRow> top_stacks(const Profile& profile);

}  // namespace stackmap
