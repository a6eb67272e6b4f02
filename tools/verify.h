// SPDX-License-Identifier: Apache-2.0
// Whether a capture holds together: every block is whole, every cookie has its stack, every count is what it counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "capture/capture.h"

namespace stackmap {

struct Verdict {
  std::string fault;                     // the first one, with its place; empty if all is sound
  std::map<uint16_t, uint64_t> by_type;  // events
  uint64_t without_stack = 0;            // events of an import whose cookie has no stack, as its ledger says
};

// Reads every event. An imported capture may have cookies without a stack, as many as its ledger accounts for.
// Fails if the capture cannot be read.
Result<Verdict> verify(const Capture& capture);

}  // namespace stackmap
