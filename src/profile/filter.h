// SPDX-License-Identifier: Apache-2.0
// Which events count in a report. An empty list accepts everything; an event must pass every list that is not empty.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "profile/task_names.h"

namespace stackmap {

struct Filter {
  std::vector<uint16_t> event_types = {};  // EventType::id
  std::vector<uint32_t> tgids = {};
  std::vector<uint32_t> tids = {};
  std::vector<std::string> comms = {};                       // the whole name, as it was when the event happened
  uint64_t from_ns = 0;                                      // CLOCK_MONOTONIC, inclusive
  uint64_t until_ns = std::numeric_limits<uint64_t>::max();  // inclusive
};

// A filter made ready for many events.
class EventFilter {
 public:
  explicit EventFilter(const Filter& filter);

  // Without the task: event type, thread and time.
  bool accepts(const Event& event) const {
    return event.time_ns >= from_ns_ && event.time_ns <= until_ns_ && (all_types_ || types_[event.type]) &&
           (tids_.empty() || contains(tids_, event.tid));
  }
  // By the task; `names` gave the era.
  bool accepts(const TaskEra& era, const TaskNames& names);
  bool needs_task() const { return !tgids_.empty() || !comms_.empty(); }

 private:
  static bool contains(const std::vector<uint32_t>& sorted, uint32_t value);

  bool all_types_;
  std::vector<bool> types_;
  std::vector<uint32_t> tgids_;  // sorted
  std::vector<uint32_t> tids_;   // sorted
  std::vector<std::string> comms_;
  std::vector<uint8_t> comm_accepted_;  // by comm index, as far as it was asked for: 0 unknown, 1 no, 2 yes
  uint64_t from_ns_;
  uint64_t until_ns_;
};

}  // namespace stackmap
