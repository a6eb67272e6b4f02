// SPDX-License-Identifier: Apache-2.0
// The map file of a capture, for the commands that write one beside it.
#pragma once

#include <string>

#include "base/result.h"

namespace stackmap {

// Reads the capture and writes (or replaces) its map file. Returns the number of stacks.
Result<uint64_t> write_map_of(const std::string& capture, const std::string& map);

}  // namespace stackmap
