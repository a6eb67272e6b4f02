// SPDX-License-Identifier: Apache-2.0
#include "capture/part_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stackmap {

namespace {

// An id that no string of several files has: they are numbered from 0.
constexpr uint64_t kNoString = ~uint64_t{0};

}  // namespace

EventLayout::EventLayout(const CaptureTables& tables) : several(tables.several) {
  for (const EventType& type : tables.types) {
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

void PartTables::begin(const CaptureTables& tables) {
  first_frame_ = tables.stacks.frames.size();
}

void PartTables::take_types(std::vector<EventType> types, CaptureTables& tables) {
  for (EventType& type : types) {
    const auto known = std::ranges::find(tables.types, type.id, &EventType::id);
    if (known == tables.types.end()) {
      tables.types.push_back(std::move(type));
    } else if (tables.several && *known != type) {
      contradiction_ = fmt::format("it has another event type {} than the files before it", type.id);
    }
  }
}

void PartTables::take_string(uint64_t id, std::string_view text, CaptureTables& tables) {
  if (!tables.several) {
    tables.strings.try_emplace(id, text);
    return;
  }
  const auto [known, is_new] = tables.string_ids.try_emplace(std::string(text), tables.string_ids.size());
  if (is_new) {
    tables.strings.emplace(known->second, text);
  }
  string_ids_.try_emplace(id, known->second);
}

void PartTables::take_task(TaskRecord record, CaptureTables& tables) {
  (tables.several ? tasks_ : tables.tasks).add(std::move(record));
}

void PartTables::take_stack(Cookie cookie, std::span<const uint64_t> frames, CaptureTables& tables) {
  // A repeated entry has equal contents; whatever it has, the first one of a file stands.
  StackTable& stacks = tables.stacks;
  const auto [it, is_new] = stacks.places.try_emplace(cookie);
  if (is_new) {
    it->second = {stacks.frames.size(), static_cast<uint32_t>(frames.size()), 0};
    stacks.frames.insert(stacks.frames.end(), frames.begin(), frames.end());
  } else if (it->second.first < first_frame_ &&
             !std::ranges::equal(frames, std::span(stacks.frames).subspan(it->second.first, it->second.depth))) {
    contradiction_ = fmt::format("<stack_id {} gen {}> is another stack in it than in the files before it",
                                 cookie.slot(), cookie.generation());
  }
}

void PartTables::end(uint64_t events_begin_ns, CaptureTables& tables) {
  end_frame_ = tables.stacks.frames.size();
  // What a file saw before its first event holds from there: the files before it know better about earlier times.
  std::vector<TaskRecord> records = tasks_.records();
  for (size_t i = 0; i < records.size(); ++i) {
    TaskRecord& record = records[i];
    const bool is_last_before =
        i + 1 == records.size() || records[i + 1].tid != record.tid || records[i + 1].time_ns > events_begin_ns;
    if (tables.files_read != 0 && record.change == TaskChange::kSeen && record.time_ns < events_begin_ns &&
        is_last_before) {
      record.time_ns = events_begin_ns;
    }
    const TaskRecord* known = tables.tasks.find(record.tid, record.time_ns);
    if (known == nullptr || *known != record) {
      tables.tasks.add(std::move(record));
    }
  }
  tasks_ = {};
  ++tables.files_read;
}

uint64_t PartTables::stands_for(uint64_t address) const {
  const auto it = stand_ins_.find(address);
  return it != stand_ins_.end() ? it->second : address;
}

void PartTables::use_stand_ins(CaptureTables& tables) const {
  if (stand_ins_.empty()) {
    return;
  }
  for (size_t i = first_frame_; i < end_frame_; ++i) {
    uint64_t& frame = tables.stacks.frames[i];
    frame = stands_for(frame);
  }
}

Event PartTables::translate(const Event& event, const EventLayout& layout) {
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
      frame = stands_for(frame);
    }
    translated.stack.frames = frames_;
  }
  return translated;
}

}  // namespace stackmap
