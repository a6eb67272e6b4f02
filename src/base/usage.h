// SPDX-License-Identifier: Apache-2.0
// What this process itself uses. Thread-safe.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace stackmap {

// User and system CPU time of all its threads, in nanoseconds.
uint64_t process_cpu_ns();
// Resident memory in bytes, shared pages included.
Result<uint64_t> resident_memory();

}  // namespace stackmap
