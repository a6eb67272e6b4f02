// SPDX-License-Identifier: Apache-2.0
// How many events one stands for: what its field of the format kRepeat says, and 1 where its type has none, as in every
// recording. Thread-safe once it is made.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/event_source.h"

namespace stackmap {

class EventRepeats {
 public:
  explicit EventRepeats(const EventSource& source);

  uint64_t of(const Event& event) const {
    const size_t field = event.type < fields_.size() ? fields_[event.type] : kNone;
    return field < event.fields.size() ? event.fields[field] : 1;
  }

 private:
  static constexpr uint8_t kNone = UINT8_MAX;
  std::vector<uint8_t> fields_;  // by EventType::id: the index of the field; empty where no type has one
};

}  // namespace stackmap
