// SPDX-License-Identifier: Apache-2.0
// What both ways of a block of events share: the numbers of the columns (FORMAT.md section 4) and the bounds. For
// event_block*.cpp alone.
#pragma once

#include <cstdint>

namespace stackmap {

enum ColumnId : uint32_t {
  kTypeColumn = 0,
  kCpuColumn = 1,
  kTimeColumn = 2,
  kTidColumn = 3,
  kStackColumn = 4,
  kCookieColumn = 5,
  kSlotColumn = 6,
  kFallbackColumn = 7,
  kErrnoColumn = 8,
  kFixedColumns = 9,
};

inline constexpr uint32_t kMaxType = 4095;

}  // namespace stackmap
