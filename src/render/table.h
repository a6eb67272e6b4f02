// SPDX-License-Identifier: Apache-2.0
// The text report: a total, the heaviest stacks, the heaviest functions. Equal weights are in order of name, so the
// same profile gives the same text.
//
// A stack names its task if it has one only, else how many. What rows and their numbers are, profile/top.h says.
#pragma once

#include <cstddef>

#include "base/file.h"
#include "profile/profile.h"
#include "profile/top.h"

namespace stackmap {

struct TableOptions {
  size_t limit = 20;  // stacks, and functions; 0 is all
  bool stacks = true;
  bool functions = true;
  FunctionOrder order = FunctionOrder::kSelf;
  size_t max_frames = 0;  // of a stack, the innermost; 0 is all
};

// A write that failed is reported by out.flush().
void write_table(const Profile& profile, const TableOptions& options, TextWriter& out);

}  // namespace stackmap
