// SPDX-License-Identifier: Apache-2.0
// The way back: the bytes of a block of events, which are not trusted, to the events.
#include <array>
#include <unordered_map>

#include "base/bytes.h"
#include "capture/event_block.h"
#include "capture/event_block_columns.h"

namespace stackmap {

namespace {

constexpr uint64_t kNearCpus = 512;
// A stack of a fallback; far above what a kernel gives, and a bound on what hostile bytes can ask for.
constexpr uint64_t kMaxFallbackDepth = 65536;

}  // namespace

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
