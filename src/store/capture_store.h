// SPDX-License-Identifier: Apache-2.0
// Where a recording's captures go, if they are several: segments on a disk, or memory.
#pragma once

#include <cstdint>
#include <memory>

#include "base/file.h"
#include "base/result.h"

namespace stackmap {

class CaptureStore {
 public:
  virtual ~CaptureStore() = default;
  // The file of the first or next capture.
  virtual Result<std::unique_ptr<WritableFile>> open_next() = 0;
  // The number of the capture that was opened last, for its header.
  virtual uint64_t segment() const = 0;
  // Whether a capture of that size and age should end, and another one begin.
  virtual bool is_full(uint64_t bytes, uint64_t age_ns) const = 0;
  // The capture before the one that was opened last is complete.
  virtual void close_previous() = 0;
  // The one that was opened last is complete, and all before it.
  virtual void close_last() = 0;
};

}  // namespace stackmap
