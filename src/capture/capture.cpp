// SPDX-License-Identifier: Apache-2.0
#include "capture/capture.h"

#include <fmt/format.h>

#include <algorithm>

#include "capture/block.h"
#include "capture/capture_part.h"

namespace stackmap {

struct Capture::State {
  std::vector<std::unique_ptr<CapturePart>> parts;
  std::string name;
  std::string missing;
  CaptureInfo info;
  CaptureTables tables;
  Ledger ledger;
  Damage damage;

  Result<void> read();
};

Result<void> Capture::State::read() {
  STACKMAP_TRY(order_parts(parts));
  tables.several = parts.size() > 1;
  for (const auto& part : parts) {
    STACKMAP_TRY(part->read_tables(tables));
  }
  join_symbols(parts, tables);
  name = joined_name(parts);
  missing = stackmap::missing_segments(parts);
  info = join_infos(parts);
  ledger = join_ledgers(parts);
  damage = join_damage(parts);
  if (tables.types.empty() && damage.any()) {
    // The table is lost; what the fixed numbers mean is known all the same.
    tables.types = known_event_types();
  }
  return {};
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
  std::vector<std::unique_ptr<ReadableFile>> files;
  files.push_back(std::move(file));
  return open(std::move(files));
}

Result<Capture> Capture::open(const std::vector<std::string>& paths) {
  std::vector<std::unique_ptr<ReadableFile>> files;
  for (const std::string& path : paths) {
    STACKMAP_TRY_VALUE(file, open_file(path));
    files.push_back(std::move(file));
  }
  return open(std::move(files));
}

Result<Capture> Capture::open(std::vector<std::unique_ptr<ReadableFile>> files) {
  auto state = std::make_unique<State>();
  for (auto& file : files) {
    STACKMAP_TRY_VALUE(part, CapturePart::open(std::move(file)));
    state->parts.push_back(std::move(part));
  }
  STACKMAP_TRY(state->read());
  return Capture(std::move(state));
}

const std::string& Capture::name() const {
  return state_->name;
}
const CaptureInfo& Capture::info() const {
  return state_->info;
}
size_t Capture::file_count() const {
  return state_->parts.size();
}
const std::string& Capture::missing_segments() const {
  return state_->missing;
}
const std::vector<EventType>& Capture::event_types() const {
  return state_->tables.types;
}
const TaskTable& Capture::tasks() const {
  return state_->tables.tasks;
}
const Ledger& Capture::ledger() const {
  return state_->ledger;
}
const Damage& Capture::damage() const {
  state_->damage = join_damage(state_->parts);
  return state_->damage;
}

std::vector<BlockInfo> Capture::blocks() const {
  std::vector<BlockInfo> all;
  for (const auto& part : state_->parts) {
    all.insert(all.end(), part->blocks().begin(), part->blocks().end());
  }
  return all;
}

uint64_t Capture::event_count() const {
  uint64_t events = 0;
  for (const auto& part : state_->parts) {
    events += part->events();
  }
  return events;
}

uint64_t Capture::events_expected() const {
  uint64_t events = 0;
  for (const auto& part : state_->parts) {
    events += part->events_expected();
  }
  return events;
}

std::vector<CaptureFile> Capture::files() const {
  std::vector<CaptureFile> files;
  for (const auto& part : state_->parts) {
    CaptureFile file{part->name(),   part->info().segment, part->size(),  part->events(), 0, 0,
                     part->blocks(), part->ledger(),       part->damage()};
    for (const BlockInfo& block : file.blocks) {
      if (static_cast<BlockKind>(block.kind) == BlockKind::kEvents) {
        file.first_ns = file.first_ns == 0 ? block.first_ns : std::min(file.first_ns, block.first_ns);
        file.last_ns = std::max(file.last_ns, block.last_ns);
      }
    }
    files.push_back(std::move(file));
  }
  return files;
}

const EventType* Capture::event_type(uint16_t id) const {
  for (const EventType& type : state_->tables.types) {
    if (type.id == id) {
      return &type;
    }
  }
  return nullptr;
}

std::string_view Capture::string(uint64_t id) const {
  const auto it = state_->tables.strings.find(id);
  return it == state_->tables.strings.end() ? std::string_view("?") : it->second;
}

std::span<const uint64_t> Capture::stack(Cookie cookie) const {
  const auto it = state_->tables.stacks.places.find(cookie);
  if (it == state_->tables.stacks.places.end()) {
    return {};
  }
  return std::span(state_->tables.stacks.frames).subspan(it->second.first, it->second.depth);
}

std::vector<CapturedStack> Capture::stacks() const {
  std::vector<CapturedStack> records;
  records.reserve(state_->tables.stacks.places.size());
  for (const auto& [cookie, place] : state_->tables.stacks.places) {
    records.push_back({cookie, std::span(state_->tables.stacks.frames).subspan(place.first, place.depth), place.ref});
  }
  std::sort(records.begin(), records.end(),
            [](const CapturedStack& a, const CapturedStack& b) { return a.cookie < b.cookie; });
  return records;
}

Result<std::vector<CapturedStack>> Capture::counted_stacks() const {
  std::vector<CapturedStack> records = stacks();
  if (damage().closed) {
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

const KernelSymbol* Capture::symbol(uint64_t frame) const {
  const CaptureTables& tables = state_->tables;
  if (frame - kStandInBase < tables.stand_ins.size()) {
    return &tables.stand_ins[frame - kStandInBase].symbol;
  }
  const auto it = tables.symbols.find(frame);
  return it == tables.symbols.end() ? nullptr : &it->second;
}

std::string Capture::symbol_text(uint64_t frame) const {
  const KernelSymbol* found = symbol(frame);
  return found != nullptr ? found->text(frame) : fmt::format("0x{:x}", frame);
}

uint64_t Capture::address(uint64_t frame) const {
  const auto& stand_ins = state_->tables.stand_ins;
  return frame - kStandInBase < stand_ins.size() ? stand_ins[frame - kStandInBase].address : frame;
}

std::vector<std::pair<uint64_t, const KernelSymbol*>> Capture::symbols() const {
  std::vector<std::pair<uint64_t, const KernelSymbol*>> all;
  const CaptureTables& tables = state_->tables;
  for (const auto& [address, symbol] : tables.symbols) {
    all.emplace_back(address, &symbol);
  }
  for (size_t i = 0; i < tables.stand_ins.size(); ++i) {
    all.emplace_back(kStandInBase + i, &tables.stand_ins[i].symbol);
  }
  std::ranges::sort(all, {}, &std::pair<uint64_t, const KernelSymbol*>::first);
  return all;
}

std::vector<std::pair<uint64_t, std::string_view>> Capture::strings() const {
  std::vector<std::pair<uint64_t, std::string_view>> all(state_->tables.strings.begin(), state_->tables.strings.end());
  std::ranges::sort(all);
  return all;
}

Result<void> Capture::for_each_event(const std::function<bool(const Event&)>& callback) const {
  const EventLayout layout(state_->tables);
  for (const auto& part : state_->parts) {
    STACKMAP_TRY_VALUE(go_on, part->for_each_event(layout, callback));
    if (!go_on) {
      break;
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
