// SPDX-License-Identifier: Apache-2.0
#include "capture/event_block.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <unordered_map>

#include "base/bytes.h"

namespace stackmap {

namespace {

enum ColumnId : uint32_t {
  kTypeColumn = 0,
  kCpuColumn = 1,
  kTimeColumn = 2,
  kTidColumn = 3,
  kStackColumn = 4,
  kCookieColumn = 5,
  kSlotColumn = 6,
  kFallbackColumn = 7,
  kErrnoColumn = 8,
  kFixedColumns = 9,
};

constexpr uint32_t kMaxType = 4095;
constexpr uint64_t kNearCpus = 512;
// A stack of a fallback; far above what a kernel gives, and a bound on what hostile bytes can ask for.
constexpr uint64_t kMaxFallbackDepth = 65536;
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

void EventBlockEncoder::add_stack(const StackRef& stack) {
  states_.put(static_cast<uint64_t>(stack.state));
  switch (stack.state) {
    case StackRef::State::kNone:
      break;
    case StackRef::State::kCookie: {
      const uint32_t slot = stack.cookie.slot();
      assert(generation_ == 0 || generation_ == stack.cookie.generation());
      generation_ = stack.cookie.generation();
      if (slot >= slot_index_.size() && slot < kNearSlots) {
        slot_index_.resize(std::max<size_t>(size_t{slot} + 1, slot_index_.size() * 2));
      }
      auto& [block, index] = slot < kNearSlots ? slot_index_[slot] : far_slots_[slot];
      if (block != block_) {
        block = block_;
        index = slot_count_++;
        slots_.put(slot);
      }
      cookies_.put(index);
      break;
    }
    case StackRef::State::kFallback: {
      fallbacks_.put(stack.frames.size());
      uint64_t before = 0;
      for (const uint64_t frame : stack.frames) {
        fallbacks_.put(delta(frame, before));
        before = frame;
      }
      break;
    }
    case StackRef::State::kError:
      errors_.put(static_cast<uint64_t>(stack.errnum));
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
  types_.put(event.type);
  cpus_.put(event.cpu);
  if (event.cpu >= cpu_.size()) {
    cpu_.resize(size_t{event.cpu} + 1);
  }
  Cpu& cpu = cpu_[event.cpu];
  times_.put(delta(event.time_ns, cpu.used ? cpu.time_ns : base_ns_));
  tids_.put(delta(event.tid, cpu.used ? cpu.tid : 0));
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
  return types_.size() + cpus_.size() + times_.size() + tids_.size() + states_.size() + cookies_.size() +
         slots_.size() + fallbacks_.size() + errors_.size() + field_bytes_;
}

void EventBlockEncoder::finish(std::string& out) {
  ByteWriter writer(out);
  std::vector<std::pair<uint32_t, std::string_view>> columns;
  const auto add_column = [&](uint32_t id, const Column& column) {
    if (column.size() != 0) {
      columns.emplace_back(id, column.view());
    }
  };
  const std::array<Column*, kFixedColumns> fixed = {&types_,   &cpus_,  &times_,     &tids_,  &states_,
                                                    &cookies_, &slots_, &fallbacks_, &errors_};
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
  slot_count_ = 0;
  far_slots_.clear();
  ++block_;
  field_bytes_ = 0;
}

// The columns of one block while it is read.
struct EventBlockDecoder::State {
  struct Cpu {
    bool used = false;
    uint64_t time_ns = 0;
    uint32_t tid = 0;
  };
  struct Field {
    ByteReader reader{{}};
    uint64_t before = 0;
    bool present = false;
  };
  using TypeFields = std::array<Field, kFieldColumnsPerType>;

  std::array<ByteReader, kFixedColumns> fixed{ByteReader({}), ByteReader({}), ByteReader({}),
                                              ByteReader({}), ByteReader({}), ByteReader({}),
                                              ByteReader({}), ByteReader({}), ByteReader({})};
  // A type's fields are types[type_index[type] - 1]; 0 where the block has no column of it. Room is made for the types
  // that have columns alone: a column of a hostile number costs no more than another.
  std::array<uint16_t, kMaxType + 1> type_index{};
  std::vector<TypeFields> types;
  // By number where that is small, as it nearly always is: a hostile number makes room for itself alone.
  std::vector<Cpu> cpus;
  std::unordered_map<uint64_t, Cpu> far_cpus;
  std::vector<uint32_t> slots;
  uint64_t base_ns = 0;
  uint32_t generation = 0;
  std::array<uint64_t, kFieldColumnsPerType> values{};

  bool read_columns(ByteReader& payload);
  bool read_event(const FieldCount& field_count, std::vector<uint64_t>& frames, Event& event);
  bool read_stack(std::vector<uint64_t>& frames, StackRef& stack);
};

bool EventBlockDecoder::State::read_columns(ByteReader& payload) {
  base_ns = payload.varint();
  const uint64_t columns = payload.varint();
  for (uint64_t i = 0; i < columns && payload.ok(); ++i) {
    const uint64_t id = payload.varint();
    const ByteReader column(payload.take(payload.varint()));
    if (id < kFixedColumns) {
      fixed[id] = column;
    } else if (id >= kFieldColumnBase && id < kFieldColumnBase + kFieldColumnsPerType * (kMaxType + 1)) {
      const uint64_t index = id - kFieldColumnBase;
      uint16_t& type = type_index[index / kFieldColumnsPerType];
      if (type == 0) {
        types.emplace_back();
        type = static_cast<uint16_t>(types.size());
      }
      types[type - 1U][index % kFieldColumnsPerType] = {column, 0, true};
    }
  }
  return payload.ok();
}

bool EventBlockDecoder::State::read_stack(std::vector<uint64_t>& frames, StackRef& stack) {
  stack = {};
  const uint64_t state = fixed[kStackColumn].varint();
  switch (state) {
    case 0:
      return fixed[kStackColumn].ok();
    case 1: {
      const uint64_t index = fixed[kCookieColumn].varint();
      if (index == slots.size()) {
        slots.push_back(static_cast<uint32_t>(fixed[kSlotColumn].varint()));
      }
      if (index >= slots.size() || !fixed[kCookieColumn].ok() || !fixed[kSlotColumn].ok()) {
        return false;
      }
      stack.state = StackRef::State::kCookie;
      stack.cookie = Cookie(generation, slots[index]);
      return true;
    }
    case 2: {
      ByteReader& reader = fixed[kFallbackColumn];
      const uint64_t depth = reader.varint();
      if (depth > kMaxFallbackDepth || depth > reader.remaining()) {
        return false;
      }
      frames.resize(depth);
      uint64_t before = 0;
      for (uint64_t& frame : frames) {
        before += static_cast<uint64_t>(reader.svarint());
        frame = before;
      }
      stack.state = StackRef::State::kFallback;
      stack.frames = frames;
      return reader.ok();
    }
    case 3: {
      const uint64_t errnum = fixed[kErrnoColumn].varint();
      stack.state = StackRef::State::kError;
      stack.errnum = static_cast<int>(errnum);
      return fixed[kErrnoColumn].ok() && errnum != 0 && errnum < 65536;
    }
    default:
      return false;
  }
}

bool EventBlockDecoder::State::read_event(const FieldCount& field_count, std::vector<uint64_t>& frames, Event& event) {
  const uint64_t type = fixed[kTypeColumn].varint();
  const uint64_t cpu_number = fixed[kCpuColumn].varint();
  if (type > kMaxType || cpu_number > kMaxBlockCpu || !fixed[kTypeColumn].ok() || !fixed[kCpuColumn].ok()) {
    return false;
  }
  if (cpu_number < kNearCpus && cpu_number >= cpus.size()) {
    cpus.resize(cpu_number + 1);
  }
  Cpu& cpu = cpu_number < kNearCpus ? cpus[cpu_number] : far_cpus[cpu_number];
  const uint64_t time_ns = (cpu.used ? cpu.time_ns : base_ns) + static_cast<uint64_t>(fixed[kTimeColumn].svarint());
  const uint32_t tid =
      static_cast<uint32_t>((cpu.used ? cpu.tid : 0) + static_cast<uint64_t>(fixed[kTidColumn].svarint()));
  cpu = {true, time_ns, tid};
  event.time_ns = time_ns;
  event.tid = tid;
  event.cpu = static_cast<uint32_t>(cpu_number);
  event.type = static_cast<uint16_t>(type);
  if (!fixed[kTimeColumn].ok() || !fixed[kTidColumn].ok() || !read_stack(frames, event.stack)) {
    return false;
  }
  const size_t n = field_count(event.type);
  if (n == 0) {
    event.fields = {};
    return true;
  }
  if (n > kFieldColumnsPerType || type_index[type] == 0) {
    return false;
  }
  TypeFields& fields = types[type_index[type] - 1U];
  for (size_t i = 0; i < n; ++i) {
    Field& field = fields[i];
    if (!field.present) {
      return false;
    }
    field.before += static_cast<uint64_t>(field.reader.svarint());
    values[i] = field.before;
    if (!field.reader.ok()) {
      return false;
    }
  }
  event.fields = std::span(values).first(n);
  return true;
}

Result<bool> EventBlockDecoder::decode(std::span<const std::byte> payload, uint32_t generation, uint32_t count,
                                       const FieldCount& field_count,
                                       const std::function<bool(const Event&)>& callback) {
  const auto bad = [](std::string what) { return make_error(ErrorKind::kCorrupt, "block of events: " + what); };
  ByteReader reader(payload);
  State state;
  state.generation = generation;
  if (reader.varint() != count) {
    return bad("its count is not that of its header");
  }
  if (!state.read_columns(reader)) {
    return bad("a column is longer than the block");
  }
  Event event;
  for (uint32_t i = 0; i < count; ++i) {
    if (!state.read_event(field_count, frames_, event)) {
      return bad("event " + std::to_string(i) + " of " + std::to_string(count) + " is damaged");
    }
    if (!callback(event)) {
      return false;
    }
  }
  return true;
}

}  // namespace stackmap
