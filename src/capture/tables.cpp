// SPDX-License-Identifier: Apache-2.0
#include "capture/tables.h"

#include "base/bytes.h"
#include "base/text.h"

namespace stackmap {

namespace {

enum Tag : uint64_t {
  kTool = 1,
  kCommand = 2,
  kKernelRelease = 3,
  kKernelVersion = 4,
  kMachine = 5,
  kBootId = 6,
  kBuildId = 7,
  kPageSize = 8,
  kCpus = 9,
  kSymbolSource = 10,
  kMapCapacity = 11,
  kMaxDepth = 12,
  kRingBytes = 13,
  kSession = 14,
  kSegment = 15,
};

// Depth of a stack: far above what a kernel gives, and a bound on what hostile bytes can ask for.
constexpr uint64_t kMaxStackDepth = 65536;

Result<void> bad(std::string_view what) {
  return make_error(ErrorKind::kCorrupt, "block of " + std::string(what) + ": its contents are damaged");
}

// Runs `entry` count times, while the reader is good.
template <typename Entry>
Result<void> each(Bytes payload, uint32_t count, std::string_view what, const Entry& entry) {
  ByteReader reader(payload);
  for (uint32_t i = 0; i < count; ++i) {
    if (!entry(reader) || !reader.ok()) {
      return bad(what);
    }
  }
  return {};
}

}  // namespace

void encode_info(const CaptureInfo& info, std::string& out, uint32_t& count) {
  ByteWriter writer(out);
  count = 0;
  const auto put = [&](Tag tag, const std::string& text) {
    writer.varint(tag);
    writer.counted_text(text);
    ++count;
  };
  put(kTool, info.tool);
  put(kCommand, info.command);
  put(kKernelRelease, info.host.kernel_release);
  put(kKernelVersion, info.host.kernel_version);
  put(kMachine, info.host.machine);
  put(kBootId, info.host.boot_id);
  put(kBuildId, info.host.kernel_build_id);
  put(kPageSize, std::to_string(info.host.page_size));
  put(kCpus, std::to_string(info.host.cpus_possible));
  put(kSymbolSource, info.symbol_source);
  put(kMapCapacity, std::to_string(info.map_capacity));
  put(kMaxDepth, std::to_string(info.max_depth));
  put(kRingBytes, std::to_string(info.ring_bytes));
  if (info.session != 0) {
    put(kSession, std::to_string(info.session));
  }
  if (info.segment != 0) {
    put(kSegment, std::to_string(info.segment));
  }
}

Result<void> decode_info(Bytes payload, uint32_t count, CaptureInfo& info) {
  return each(payload, count, "the header", [&](ByteReader& reader) {
    const uint64_t tag = reader.varint();
    const std::string text(reader.counted_text());
    const auto number = [&](auto& to) {
      const auto value = parse_uint(text);
      if (!value || *value > static_cast<std::remove_reference_t<decltype(to)>>(-1)) {
        return false;
      }
      to = static_cast<std::remove_reference_t<decltype(to)>>(*value);
      return true;
    };
    switch (tag) {
      case kTool:
        info.tool = text;
        return true;
      case kCommand:
        info.command = text;
        return true;
      case kKernelRelease:
        info.host.kernel_release = text;
        return true;
      case kKernelVersion:
        info.host.kernel_version = text;
        return true;
      case kMachine:
        info.host.machine = text;
        return true;
      case kBootId:
        info.host.boot_id = text;
        return true;
      case kBuildId:
        info.host.kernel_build_id = text;
        return true;
      case kSymbolSource:
        info.symbol_source = text;
        return true;
      case kPageSize:
        return number(info.host.page_size);
      case kCpus:
        return number(info.host.cpus_possible);
      case kMapCapacity:
        return number(info.map_capacity);
      case kMaxDepth:
        return number(info.max_depth);
      case kRingBytes:
        return number(info.ring_bytes);
      case kSession:
        return number(info.session);
      case kSegment:
        return number(info.segment);
      default:
        return true;
    }
  });
}

void encode_event_type(const EventType& type, std::string& out) {
  ByteWriter writer(out);
  writer.varint(type.id);
  writer.counted_text(type.category);
  writer.counted_text(type.name);
  writer.varint(type.fields.size());
  for (const FieldType& field : type.fields) {
    writer.counted_text(field.name);
    writer.varint(static_cast<uint64_t>(field.format));
  }
}

Result<void> decode_event_types(Bytes payload, uint32_t count, std::vector<EventType>& types) {
  std::vector<bool> known(kMaxEventTypes);
  for (const EventType& type : types) {
    known[type.id] = true;
  }
  return each(payload, count, "event types", [&](ByteReader& reader) {
    EventType type;
    const uint64_t id = reader.varint();
    type.id = static_cast<uint16_t>(id);
    type.category = reader.counted_text();
    type.name = reader.counted_text();
    const uint64_t fields = reader.varint();
    if (id >= kMaxEventTypes || fields > 16) {
      return false;
    }
    for (uint64_t i = 0; i < fields; ++i) {
      FieldType field;
      field.name = reader.counted_text();
      // A later version's format prints as a plain number.
      const uint64_t format = reader.varint();
      field.format = format <= static_cast<uint64_t>(FieldFormat::kRepeat) ? static_cast<FieldFormat>(format)
                                                                           : FieldFormat::kUnsigned;
      type.fields.push_back(std::move(field));
    }
    if (!reader.ok()) {
      return false;
    }
    if (!known[id]) {
      known[id] = true;
      types.push_back(std::move(type));
    }
    return true;
  });
}

void encode_string(uint64_t id, std::string_view text, std::string& out) {
  ByteWriter writer(out);
  writer.varint(id);
  writer.counted_text(text);
}

Result<void> decode_strings(Bytes payload, uint32_t count,
                            const std::function<void(uint64_t id, std::string_view text)>& take) {
  return each(payload, count, "strings", [&](ByteReader& reader) {
    const uint64_t id = reader.varint();
    const std::string_view text = reader.counted_text();
    if (reader.ok()) {
      take(id, text);
    }
    return true;
  });
}

void encode_task(const TaskRecord& record, uint64_t base_ns, std::string& out) {
  ByteWriter writer(out);
  writer.svarint(static_cast<int64_t>(record.time_ns - base_ns));
  writer.varint(static_cast<uint64_t>(record.change));
  writer.varint(record.tid);
  writer.varint(record.tgid);
  writer.varint(record.ptgid);
  writer.counted_text(record.comm);
}

Result<void> decode_tasks(Bytes payload, uint32_t count, uint64_t base_ns,
                          const std::function<void(TaskRecord record)>& take) {
  return each(payload, count, "tasks", [&](ByteReader& reader) {
    TaskRecord record;
    record.time_ns = base_ns + static_cast<uint64_t>(reader.svarint());
    const uint64_t change = reader.varint();
    record.change = static_cast<TaskChange>(change);
    record.tid = static_cast<uint32_t>(reader.varint());
    record.tgid = static_cast<uint32_t>(reader.varint());
    record.ptgid = static_cast<uint32_t>(reader.varint());
    record.comm = reader.counted_text();
    if (reader.ok() && change <= static_cast<uint64_t>(TaskChange::kExit)) {
      take(std::move(record));
    }
    return true;
  });
}

void encode_stack(uint32_t slot, std::span<const uint64_t> frames, uint64_t& first_frame, std::string& out) {
  ByteWriter writer(out);
  writer.varint(slot);
  writer.varint(frames.size());
  uint64_t before = first_frame;
  for (const uint64_t frame : frames) {
    writer.svarint(static_cast<int64_t>(frame - before));
    before = frame;
  }
  if (!frames.empty()) {
    first_frame = frames.front();
  }
}

Result<void> decode_stacks(Bytes payload, uint32_t count,
                           const std::function<void(uint32_t slot, std::span<const uint64_t> frames)>& take) {
  std::vector<uint64_t> frames;
  uint64_t first_frame = 0;
  return each(payload, count, "stacks", [&](ByteReader& reader) {
    const uint64_t slot = reader.varint();
    const uint64_t depth = reader.varint();
    // A frame takes at least a byte.
    if (slot > UINT32_MAX || depth > kMaxStackDepth || depth > reader.remaining()) {
      return false;
    }
    frames.resize(depth);
    uint64_t before = first_frame;
    for (uint64_t& frame : frames) {
      before += static_cast<uint64_t>(reader.svarint());
      frame = before;
    }
    if (!frames.empty()) {
      first_frame = frames.front();
    }
    if (reader.ok()) {
      take(static_cast<uint32_t>(slot), frames);
    }
    return true;
  });
}

void encode_symbol(uint64_t address, const KernelSymbol& symbol, uint64_t& before, std::string& out) {
  ByteWriter writer(out);
  writer.svarint(static_cast<int64_t>(address - before));
  before = address;
  writer.varint(symbol.offset);
  writer.varint(symbol.size);
  writer.counted_text(symbol.name);
  writer.counted_text(symbol.module);
}

Result<void> decode_symbols(Bytes payload, uint32_t count,
                            const std::function<void(uint64_t address, KernelSymbol symbol)>& take) {
  uint64_t address = 0;
  return each(payload, count, "symbols", [&](ByteReader& reader) {
    address += static_cast<uint64_t>(reader.svarint());
    KernelSymbol symbol;
    symbol.offset = reader.varint();
    symbol.size = reader.varint();
    symbol.name = reader.counted_text();
    symbol.module = reader.counted_text();
    if (reader.ok()) {
      take(address, std::move(symbol));
    }
    return true;
  });
}

void encode_ledger(const Ledger& ledger, std::string& out) {
  ByteWriter writer(out);
  for (const auto& [name, value] : ledger.entries()) {
    writer.counted_text(name);
    writer.varint(value);
  }
}

Result<void> decode_ledger(Bytes payload, uint32_t count, Ledger& ledger) {
  return each(payload, count, "counters", [&](ByteReader& reader) {
    std::string name(reader.counted_text());
    const uint64_t value = reader.varint();
    if (!reader.ok() || (ledger.entries().size() >= kMaxLedgerEntries && !ledger.has(name))) {
      return false;
    }
    ledger.set(std::move(name), value);
    return true;
  });
}

void encode_anchor(const ClockAnchor& anchor, std::string& out) {
  ByteWriter writer(out);
  writer.varint(anchor.monotonic_ns);
  writer.varint(anchor.boottime_ns);
  writer.varint(anchor.realtime_ns);
}

Result<void> decode_anchors(Bytes payload, uint32_t count, std::vector<ClockAnchor>& anchors) {
  return each(payload, count, "clock anchors", [&](ByteReader& reader) {
    ClockAnchor anchor;
    anchor.monotonic_ns = reader.varint();
    anchor.boottime_ns = reader.varint();
    anchor.realtime_ns = reader.varint();
    if (reader.ok()) {
      anchors.push_back(anchor);
    }
    return true;
  });
}

void encode_ref(uint32_t slot, uint64_t ref, std::string& out) {
  ByteWriter writer(out);
  writer.varint(slot);
  writer.varint(ref);
}

Result<void> decode_refs(Bytes payload, uint32_t count, const std::function<void(uint32_t slot, uint64_t ref)>& take) {
  return each(payload, count, "refs", [&](ByteReader& reader) {
    const uint64_t slot = reader.varint();
    const uint64_t ref = reader.varint();
    if (reader.ok() && slot <= UINT32_MAX) {
      take(static_cast<uint32_t>(slot), ref);
    }
    return true;
  });
}

}  // namespace stackmap
