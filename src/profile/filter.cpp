// SPDX-License-Identifier: Apache-2.0
#include "profile/filter.h"

#include <algorithm>

namespace stackmap {

EventFilter::EventFilter(const Filter& filter)
    : all_types_(filter.event_types.empty()),
      tgids_(filter.tgids),
      tids_(filter.tids),
      comms_(filter.comms),
      from_ns_(filter.from_ns),
      until_ns_(filter.until_ns) {
  if (!all_types_) {
    types_.resize(size_t{std::numeric_limits<uint16_t>::max()} + 1);
    for (const uint16_t type : filter.event_types) {
      types_[type] = true;
    }
  }
  std::ranges::sort(tgids_);
  std::ranges::sort(tids_);
}

bool EventFilter::contains(const std::vector<uint32_t>& sorted, uint32_t value) {
  return std::ranges::binary_search(sorted, value);
}

bool EventFilter::accepts(const TaskEra& era, const TaskNames& names) {
  if (!tgids_.empty() && !contains(tgids_, era.tgid)) {
    return false;
  }
  if (comms_.empty()) {
    return true;
  }
  if (era.comm >= comm_accepted_.size()) {
    comm_accepted_.resize(names.comm_count());
  }
  uint8_t& known = comm_accepted_[era.comm];
  if (known == 0) {
    known = std::ranges::find(comms_, names.comm(era.comm)) != comms_.end() ? 2 : 1;
  }
  return known == 2;
}

}  // namespace stackmap
