// SPDX-License-Identifier: Apache-2.0
// The text report: a total, the heaviest stacks, the heaviest functions. Equal weights are in order of name, so the
// same profile gives the same text.
//
// A stack here is the frames without the task; it names its task if it has one only, else how many. `self` of a
// function is the weight of stacks that end in it, `total` of stacks that it is in, once a stack however often it
// recurs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "profile/profile.h"

namespace stackmap {

struct TableOptions {
  size_t limit = 20;  // stacks, and functions; 0 is all
  bool stacks = true;
  bool functions = true;
  bool sort_by_total = false;  // functions; by self otherwise
  size_t max_frames = 0;       // of a stack, the innermost; 0 is all
};

struct FunctionRow {
  std::string name;  // display_name()
  uint64_t self = 0;
  uint64_t total = 0;
};
// Every function and bucket, sorted.
std::vector<FunctionRow> top_functions(const Profile& profile, bool sort_by_total);

struct StackRow {
  std::vector<std::string> frames;  // innermost first, display_name()
  std::vector<std::string> tasks;   // sorted
  uint64_t value = 0;
  uint64_t count = 0;
};
std::vector<StackRow> top_stacks(const Profile& profile, size_t limit);

// A write that failed is reported by out.flush().
void write_table(const Profile& profile, const TableOptions& options, TextWriter& out);

}  // namespace stackmap
