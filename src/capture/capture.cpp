// SPDX-License-Identifier: Apache-2.0
#include "capture/capture.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "capture/block_reader.h"
#include "capture/event_block.h"
#include "capture/tables.h"

namespace stackmap {

namespace {

// The frames of every stack, one after the other.
struct StackTable {
  struct Place {
    size_t first = 0;
    uint32_t depth = 0;
    uint64_t ref = 0;
  };
  std::vector<uint64_t> frames;
  std::unordered_map<Cookie, Place> places;
};

}  // namespace

bool CaptureInfo::operator==(const CaptureInfo& other) const {
  return host == other.host && tool == other.tool && command == other.command && symbol_source == other.symbol_source &&
         map_capacity == other.map_capacity && max_depth == other.max_depth && ring_bytes == other.ring_bytes;
}

struct Capture::State {
  std::unique_ptr<ReadableFile> file;
  std::unique_ptr<BlockReader> reader;
  std::vector<FoundBlock> found;
  std::vector<BlockInfo> blocks;
  CaptureInfo info;
  std::vector<EventType> types;
  std::unordered_map<uint64_t, std::string> strings;
  StackTable stacks;
  std::unordered_map<uint64_t, KernelSymbol> symbols;
  TaskTable tasks;
  Ledger ledger;
  Damage damage;
  uint64_t events = 0;
  uint64_t table_bytes = 0;   // of the tables so far, decompressed
  uint64_t table_stored = 0;  // and as they are stored
  // The blocks that are found damaged when they are read; each is counted once.
  std::vector<bool> counted;

  Result<void> read_table(const FoundBlock& block);
  Result<void> check_size(const FoundBlock& block);
  void take_stack(Cookie cookie, std::span<const uint64_t> frames);
  void count_damage(size_t block, const Error& error, uint64_t events_lost);
  void read_tables();
};

void Capture::State::count_damage(size_t block, const Error& error, uint64_t events_lost) {
  if (counted[block]) {
    return;
  }
  counted[block] = true;
  ++damage.bad_blocks;
  damage.events_lost += events_lost;
  if (damage.first.empty()) {
    damage.first = error.message();
  }
}

void Capture::State::take_stack(Cookie cookie, std::span<const uint64_t> frames) {
  // A repeated entry has equal contents; whatever it has, the first one stands.
  const auto [it, is_new] = stacks.places.try_emplace(cookie);
  if (is_new) {
    it->second = {stacks.frames.size(), static_cast<uint32_t>(frames.size()), 0};
    stacks.frames.insert(stacks.frames.end(), frames.begin(), frames.end());
  }
}

Result<void> Capture::State::check_size(const FoundBlock& block) {
  const uint64_t bytes = table_bytes + block.header.raw_bytes;
  const uint64_t stored = table_stored + block.header.stored_bytes;
  if (bytes > table_limit(stored)) {
    return make_error(
        ErrorKind::kCorrupt,
        fmt::format("block at byte {}: it takes the tables to {} bytes, which is more than the {} stored ones "
                    "can be meant to hold",
                    block.offset, bytes, stored));
  }
  table_bytes = bytes;
  table_stored = stored;
  return {};
}

Result<void> Capture::State::read_table(const FoundBlock& block) {
  const BlockHeader& header = block.header;
  const auto kind = static_cast<BlockKind>(header.kind);
  switch (kind) {
    case BlockKind::kEvents:
      events += header.count;
      return {};
    case BlockKind::kHeader:
    case BlockKind::kEventTypes:
    case BlockKind::kStrings:
    case BlockKind::kTasks:
    case BlockKind::kStacks:
    case BlockKind::kSymbols:
    case BlockKind::kLedger:
    case BlockKind::kAnchors:
    case BlockKind::kRefs:
    case BlockKind::kEnd:
      break;
    default:
      ++damage.unknown_blocks;
      return {};
  }
  STACKMAP_TRY(check_size(block));
  STACKMAP_TRY_VALUE(payload, reader->payload(block));
  switch (kind) {
    case BlockKind::kHeader:
      return decode_info(payload, header.count, info);
    case BlockKind::kEventTypes:
      return decode_event_types(payload, header.count, types);
    case BlockKind::kStrings:
      return decode_strings(payload, header.count,
                            [&](uint64_t id, std::string_view text) { strings.try_emplace(id, text); });
    case BlockKind::kTasks:
      return decode_tasks(payload, header.count, header.first_ns, [&](TaskRecord r) { tasks.add(std::move(r)); });
    case BlockKind::kStacks:
      return decode_stacks(payload, header.count, [&](uint32_t slot, std::span<const uint64_t> frames) {
        take_stack(Cookie(header.generation, slot), frames);
      });
    case BlockKind::kSymbols:
      return decode_symbols(payload, header.count,
                            [&](uint64_t address, KernelSymbol s) { symbols.try_emplace(address, std::move(s)); });
    case BlockKind::kLedger:
      return decode_ledger(payload, header.count, ledger);
    case BlockKind::kAnchors:
      return decode_anchors(payload, header.count, info.anchors);
    case BlockKind::kRefs:
      return decode_refs(payload, header.count, [&](uint32_t slot, uint64_t ref) {
        const auto it = stacks.places.find(Cookie(header.generation, slot));
        if (it != stacks.places.end()) {
          it->second.ref = ref;
        }
      });
    default:
      damage.closed = true;
      return {};
  }
}

void Capture::State::read_tables() {
  counted.resize(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const FoundBlock& block = found[i];
    if (auto read = read_table(block); !read) {
      count_damage(i, read.error(), 0);
    }
    const BlockHeader& h = block.header;
    blocks.push_back({block.offset, kBlockHeaderBytes + h.stored_bytes, h.raw_bytes, h.kind, h.sequence, h.generation,
                      h.count, h.first_ns, h.last_ns});
  }
}

Capture::Capture(std::unique_ptr<State> state) : state_(std::move(state)) {}
Capture::Capture(Capture&&) noexcept = default;
Capture& Capture::operator=(Capture&&) noexcept = default;
Capture::~Capture() = default;

Result<Capture> Capture::open(const std::string& path) {
  STACKMAP_TRY_VALUE(file, open_file(path));
  return open(std::move(file));
}

Result<Capture> Capture::open(std::unique_ptr<ReadableFile> file) {
  auto state = std::make_unique<State>();
  state->file = std::move(file);
  state->reader = std::make_unique<BlockReader>(*state->file);
  ScanFaults faults;
  STACKMAP_TRY_VALUE(found, state->reader->scan(faults));
  state->found = std::move(found);
  state->damage.bad_blocks = faults.bad_blocks;
  state->damage.bytes_skipped = faults.bytes_skipped;
  state->damage.torn_bytes = faults.torn_bytes;
  state->damage.missing_blocks = faults.missing_blocks;
  state->damage.first = faults.first;
  state->read_tables();
  return Capture(std::move(state));
}

const std::string& Capture::name() const {
  return state_->file->name();
}
const CaptureInfo& Capture::info() const {
  return state_->info;
}
const std::vector<EventType>& Capture::event_types() const {
  return state_->types;
}
const TaskTable& Capture::tasks() const {
  return state_->tasks;
}
const Ledger& Capture::ledger() const {
  return state_->ledger;
}
const Damage& Capture::damage() const {
  return state_->damage;
}
const std::vector<BlockInfo>& Capture::blocks() const {
  return state_->blocks;
}
uint64_t Capture::event_count() const {
  return state_->events;
}

const EventType* Capture::event_type(uint16_t id) const {
  for (const EventType& type : state_->types) {
    if (type.id == id) {
      return &type;
    }
  }
  return nullptr;
}

std::string_view Capture::string(uint64_t id) const {
  const auto it = state_->strings.find(id);
  return it == state_->strings.end() ? std::string_view("?") : it->second;
}

std::span<const uint64_t> Capture::stack(Cookie cookie) const {
  const auto it = state_->stacks.places.find(cookie);
  if (it == state_->stacks.places.end()) {
    return {};
  }
  return std::span(state_->stacks.frames).subspan(it->second.first, it->second.depth);
}

std::vector<CapturedStack> Capture::stacks() const {
  std::vector<CapturedStack> records;
  records.reserve(state_->stacks.places.size());
  for (const auto& [cookie, place] : state_->stacks.places) {
    records.push_back({cookie, std::span(state_->stacks.frames).subspan(place.first, place.depth), place.ref});
  }
  std::sort(records.begin(), records.end(),
            [](const CapturedStack& a, const CapturedStack& b) { return a.cookie < b.cookie; });
  return records;
}

Result<std::vector<CapturedStack>> Capture::counted_stacks() const {
  std::vector<CapturedStack> records = stacks();
  if (state_->damage.closed) {
    return records;
  }
  std::unordered_map<Cookie, uint64_t> refs;
  STACKMAP_TRY(for_each_event([&](const Event& event) {
    if (event.stack.state == StackRef::State::kCookie) {
      ++refs[event.stack.cookie];
    }
    return true;
  }));
  for (CapturedStack& record : records) {
    record.ref = refs[record.cookie];
  }
  return records;
}

const KernelSymbol* Capture::symbol(uint64_t address) const {
  const auto it = state_->symbols.find(address);
  return it == state_->symbols.end() ? nullptr : &it->second;
}

void Capture::for_each_symbol(const std::function<void(uint64_t, const KernelSymbol&)>& callback) const {
  for (const auto& [address, symbol] : state_->symbols) {
    callback(address, symbol);
  }
}

std::string Capture::symbol_text(uint64_t address) const {
  const KernelSymbol* found = symbol(address);
  return found != nullptr ? found->text(address) : fmt::format("0x{:x}", address);
}

Result<void> Capture::for_each_event(const std::function<bool(const Event&)>& callback) const {
  EventBlockDecoder decoder;
  std::vector<size_t> fields;
  for (const EventType& type : state_->types) {
    if (type.id >= fields.size()) {
      fields.resize(size_t{type.id} + 1);
    }
    fields[type.id] = type.fields.size();
  }
  const auto field_count = [&](uint16_t type) { return type < fields.size() ? fields[type] : 0; };
  for (size_t i = 0; i < state_->found.size(); ++i) {
    const FoundBlock& block = state_->found[i];
    const BlockHeader& header = block.header;
    if (static_cast<BlockKind>(header.kind) != BlockKind::kEvents) {
      continue;
    }
    auto payload = state_->reader->payload(block);
    if (!payload) {
      if (payload.error().kind != ErrorKind::kCorrupt) {
        return std::move(payload).error();
      }
      state_->count_damage(i, payload.error(), header.count);
      continue;
    }
    uint32_t seen = 0;
    auto done = decoder.decode(*payload, header.generation, header.count, field_count, [&](const Event& event) {
      ++seen;
      return callback(event);
    });
    if (!done) {
      state_->count_damage(i, done.error(), header.count - seen);
    } else if (!*done) {
      return {};
    }
  }
  return {};
}

std::string_view block_kind_name(uint16_t kind) {
  switch (static_cast<BlockKind>(kind)) {
    case BlockKind::kHeader:
      return "header";
    case BlockKind::kEventTypes:
      return "event types";
    case BlockKind::kStrings:
      return "strings";
    case BlockKind::kTasks:
      return "tasks";
    case BlockKind::kStacks:
      return "stacks";
    case BlockKind::kSymbols:
      return "symbols";
    case BlockKind::kEvents:
      return "events";
    case BlockKind::kLedger:
      return "ledger";
    case BlockKind::kAnchors:
      return "anchors";
    case BlockKind::kRefs:
      return "refs";
    case BlockKind::kEnd:
      return "end";
  }
  return "unknown";
}

}  // namespace stackmap
