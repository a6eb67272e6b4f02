// SPDX-License-Identifier: Apache-2.0
// The events of one file of a capture.
#include "capture/capture_part.h"
#include "capture/event_block.h"

namespace stackmap {

Result<bool> CapturePart::for_each_event(const EventLayout& layout, const std::function<bool(const Event&)>& callback) {
  BlockReader reader(*file_);
  EventBlockDecoder decoder;
  const auto field_count = [&](uint16_t type) -> size_t {
    return type < layout.fields.size() ? layout.fields[type] : 0;
  };
  for (size_t i = 0; i < found_.size(); ++i) {
    const BlockHeader& header = found_[i].header;
    if (static_cast<BlockKind>(header.kind) != BlockKind::kEvents) {
      continue;
    }
    auto payload = reader.payload(found_[i]);
    if (!payload) {
      if (payload.error().kind != ErrorKind::kCorrupt) {
        return std::move(payload).error();
      }
      count_damage(i, payload.error(), header.count);
      continue;
    }
    uint32_t seen = 0;
    auto done = decoder.decode(*payload, header.generation, header.count, field_count, [&](const Event& event) {
      ++seen;
      return callback(layout.several ? own_.translate(event, layout) : event);
    });
    if (!done) {
      count_damage(i, done.error(), header.count - seen);
    } else if (!*done) {
      return false;
    }
  }
  return true;
}

}  // namespace stackmap
