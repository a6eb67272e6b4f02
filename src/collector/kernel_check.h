// SPDX-License-Identifier: Apache-2.0
// What this kernel offers of what recording needs, what is missing, and the remedy. Changes nothing. Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace stackmap {

struct CheckItem {
  enum class State : uint8_t {
    kOk,
    kReduced,  // recording works, with less
    kMissing,  // recording does not work
  };
  State state = State::kOk;
  std::string what;
  std::string detail;  // the figure, or why not and what to do
};

std::vector<CheckItem> check_kernel();

}  // namespace stackmap
