// SPDX-License-Identifier: Apache-2.0
// What this kernel offers of what recording needs, what is missing, and the remedy. Changes nothing. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/tracepoint.h"

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

// `selected` tells what of these tracepoints a recording takes, if it is not told.
using DefaultSelection = std::function<Result<EventSelection>(const std::vector<Tracepoint>&)>;
std::vector<CheckItem> check_kernel(const DefaultSelection& selected);

}  // namespace stackmap
