// SPDX-License-Identifier: Apache-2.0
#include "capture/event_block.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "base/bytes.h"
#include "capture/event_block_columns.h"

namespace stackmap {

namespace {

// More than the largest map has. Slots from text or from another file can be any; they must not cost what they count.
constexpr uint32_t kNearSlots = uint32_t{1} << 23;

uint64_t delta(uint64_t value, uint64_t before) {
  return zigzag(static_cast<int64_t>(value - before));
}

}  // namespace

void Column::grow() {
  const size_t used = size();
  const size_t room = static_cast<size_t>(end_ - bytes_.get()) * 2 + 64;
  std::unique_ptr<unsigned char[]> bytes(new unsigned char[room]);
  std::copy_n(bytes_.get(), used, bytes.get());
  bytes_ = std::move(bytes);
  at_ = bytes_.get() + used;
  end_ = bytes_.get() + room;
}

size_t Column::put_long(uint64_t value) {
  const unsigned char* begin = at_;
  while (value >= 0x80) {
    *at_++ = static_cast<unsigned char>(value | 0x80);
    value >>= 7;
  }
  *at_++ = static_cast<unsigned char>(value);
  return static_cast<size_t>(at_ - begin);
}

SlotIndex::Seen& SlotIndex::make_room(uint32_t slot) {
  if (slot >= kNearSlots) {
    return far_[slot];
  }
  // Never above that bound: a slot is in one of the two alone.
  near_.resize(std::clamp<size_t>(near_.size() * 2, size_t{slot} + 1, kNearSlots));
  return near_[slot];
}

void SlotIndex::clear() {
  count_ = 0;
  far_.clear();
  ++block_;
}

void EventBlockEncoder::add_stack(const StackRef& stack) {
  columns_.states.put(static_cast<uint64_t>(stack.state));
  switch (stack.state) {
    case StackRef::State::kNone:
      break;
    case StackRef::State::kCookie: {
      const uint32_t slot = stack.cookie.slot();
      assert(generation_ == 0 || generation_ == stack.cookie.generation());
      generation_ = stack.cookie.generation();
      const auto [index, is_new] = slots_.place(slot);
      if (is_new) {
        columns_.slots.put(slot);
      }
      columns_.cookies.put(index);
      break;
    }
    case StackRef::State::kFallback: {
      columns_.fallbacks.put(stack.frames.size());
      uint64_t before = 0;
      for (const uint64_t frame : stack.frames) {
        columns_.fallbacks.put(delta(frame, before));
        before = frame;
      }
      break;
    }
    case StackRef::State::kError:
      columns_.errors.put(static_cast<uint64_t>(stack.errnum));
      break;
  }
}

void EventBlockEncoder::add(const Event& event) {
  assert(event.cpu <= kMaxBlockCpu && event.type <= kMaxType && event.fields.size() <= kFieldColumnsPerType);
  if (events_ == 0) {
    base_ns_ = first_ns_ = last_ns_ = event.time_ns;
  }
  first_ns_ = std::min(first_ns_, event.time_ns);
  last_ns_ = std::max(last_ns_, event.time_ns);
  ++events_;
  columns_.types.put(event.type);
  columns_.cpus.put(event.cpu);
  if (event.cpu >= cpu_.size()) {
    cpu_.resize(size_t{event.cpu} + 1);
  }
  Cpu& cpu = cpu_[event.cpu];
  columns_.times.put(delta(event.time_ns, cpu.used ? cpu.time_ns : base_ns_));
  columns_.tids.put(delta(event.tid, cpu.used ? cpu.tid : 0));
  cpu = {true, event.time_ns, event.tid};
  add_stack(event.stack);
  if (event.type >= fields_.size()) {
    fields_.resize(size_t{event.type} + 1);
  }
  auto& fields = fields_[event.type].fields;
  if (fields.size() < event.fields.size()) {
    fields.resize(event.fields.size());
  }
  for (size_t i = 0; i < event.fields.size(); ++i) {
    field_bytes_ += fields[i].column.put(delta(event.fields[i], fields[i].before));
    fields[i].before = event.fields[i];
  }
}

size_t EventBlockEncoder::bytes() const {
  return columns_.types.size() + columns_.cpus.size() + columns_.times.size() + columns_.tids.size() +
         columns_.states.size() + columns_.cookies.size() + columns_.slots.size() + columns_.fallbacks.size() +
         columns_.errors.size() + field_bytes_;
}

void EventBlockEncoder::finish(std::string& out) {
  ByteWriter writer(out);
  std::vector<std::pair<uint32_t, std::string_view>> columns;
  const auto add_column = [&](uint32_t id, const Column& column) {
    if (column.size() != 0) {
      columns.emplace_back(id, column.view());
    }
  };
  const std::array<Column*, kFixedColumns> fixed = {&columns_.types, &columns_.cpus,      &columns_.times,
                                                    &columns_.tids,  &columns_.states,    &columns_.cookies,
                                                    &columns_.slots, &columns_.fallbacks, &columns_.errors};
  for (uint32_t id = 0; id < kFixedColumns; ++id) {
    add_column(id, *fixed[id]);
  }
  for (uint32_t type = 0; type < fields_.size(); ++type) {
    for (uint32_t i = 0; i < fields_[type].fields.size(); ++i) {
      add_column(kFieldColumnBase + kFieldColumnsPerType * type + i, fields_[type].fields[i].column);
    }
  }
  writer.varint(events_);
  writer.varint(base_ns_);
  writer.varint(columns.size());
  for (const auto& [id, bytes] : columns) {
    writer.varint(id);
    writer.counted_text(bytes);
  }
  for (Column* column : fixed) {
    column->clear();
  }
  for (Type& type : fields_) {
    for (Field& field : type.fields) {
      field.column.clear();
      field.before = 0;
    }
  }
  std::fill(cpu_.begin(), cpu_.end(), Cpu{});
  events_ = 0;
  generation_ = 0;
  slots_.clear();
  field_bytes_ = 0;
}

}  // namespace stackmap
