// SPDX-License-Identifier: Apache-2.0
// How many bytes an event allocates. Types are told by category and name, fields by name, so imported events count too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "profile/event_source.h"

namespace stackmap {

class ByteWeights {
 public:
  enum class Verdict : uint8_t {
    kBytes,
    kNotAllocation,
    kFailed,       // the allocation gave nothing: ptr 0, or pfn ~0
    kUnknownSize,  // the field is not there, the order is above 40, or the page size is not known
  };

  explicit ByteWeights(const EventSource& source);
  // Sets `bytes` for kBytes only.
  Verdict weigh(const Event& event, uint64_t& bytes) const;

 private:
  struct Rule {
    bool allocation = false;
    bool page = false;
    std::optional<size_t> size;
    std::optional<size_t> result;
  };
  uint64_t page_size_;
  std::vector<Rule> rules_;  // by EventType::id
};

}  // namespace stackmap
