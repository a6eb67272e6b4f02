// SPDX-License-Identifier: Apache-2.0
#include "profile/event_repeats.h"

#include <algorithm>

namespace stackmap {

EventRepeats::EventRepeats(const EventSource& source) {
  for (const EventType& type : source.event_types()) {
    const auto field = std::ranges::find(type.fields, FieldFormat::kRepeat, &FieldType::format);
    if (field == type.fields.end()) {
      continue;
    }
    if (type.id >= fields_.size()) {
      fields_.resize(size_t{type.id} + 1, kNone);
    }
    fields_[type.id] = static_cast<uint8_t>(field - type.fields.begin());
  }
}

}  // namespace stackmap
