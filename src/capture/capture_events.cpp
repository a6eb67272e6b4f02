// SPDX-License-Identifier: Apache-2.0
// The events of one file of a capture.
#include <algorithm>

#include "capture/capture_part.h"
#include "capture/event_block.h"

namespace stackmap {

namespace {

// An id that no string of several files has: they are numbered from 0.
constexpr uint64_t kNoString = ~uint64_t{0};

}  // namespace

EventLayout::EventLayout(const std::vector<EventType>& types) {
  for (const EventType& type : types) {
    if (type.id >= fields.size()) {
      fields.resize(size_t{type.id} + 1);
      strings.resize(size_t{type.id} + 1);
    }
    fields[type.id] = static_cast<uint16_t>(type.fields.size());
    for (size_t i = 0; i < type.fields.size(); ++i) {
      strings[type.id] |= type.fields[i].format == FieldFormat::kString ? 1U << i : 0U;
    }
  }
}

Event CapturePart::translate(const Event& event, const EventLayout& layout) {
  Event translated = event;
  const uint32_t strings = event.type < layout.strings.size() ? layout.strings[event.type] : 0;
  if (strings != 0 && !event.fields.empty()) {
    std::ranges::copy(event.fields, fields_.begin());
    for (size_t i = 0; i < event.fields.size(); ++i) {
      if ((strings >> i & 1) != 0) {
        const auto it = string_ids_.find(event.fields[i]);
        fields_[i] = it != string_ids_.end() ? it->second : kNoString;
      }
    }
    translated.fields = std::span(fields_).first(event.fields.size());
  }
  if (event.stack.state == StackRef::State::kFallback && !stand_ins_.empty()) {
    frames_.assign(event.stack.frames.begin(), event.stack.frames.end());
    for (uint64_t& frame : frames_) {
      const auto it = stand_ins_.find(frame);
      frame = it != stand_ins_.end() ? it->second : frame;
    }
    translated.stack.frames = frames_;
  }
  return translated;
}

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
      return callback(several_ ? translate(event, layout) : event);
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
