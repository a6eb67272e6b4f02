// SPDX-License-Identifier: Apache-2.0
#include "capture/capture_part.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "capture/tables.h"

namespace stackmap {

namespace {

bool is_table(BlockKind kind) {
  return kind >= BlockKind::kHeader && kind <= BlockKind::kEnd && kind != BlockKind::kEvents;
}

BlockInfo block_info(const FoundBlock& block) {
  const BlockHeader& h = block.header;
  return {block.offset, kBlockHeaderBytes + h.stored_bytes,
          h.raw_bytes,  h.kind,
          h.sequence,   h.generation,
          h.count,      h.first_ns,
          h.last_ns};
}

}  // namespace

Result<std::unique_ptr<CapturePart>> CapturePart::open(std::unique_ptr<ReadableFile> file) {
  std::unique_ptr<CapturePart> part(new CapturePart(std::move(file)));
  BlockReader reader(*part->file_);
  ScanFaults faults;
  STACKMAP_TRY_VALUE(found, reader.scan(faults));
  part->found_ = std::move(found);
  part->counted_.resize(part->found_.size());
  Damage& damage = part->damage_;
  damage.bad_blocks = faults.bad_blocks;
  damage.bytes_skipped = faults.bytes_skipped;
  damage.torn_bytes = faults.torn_bytes;
  damage.missing_blocks = faults.missing_blocks;
  damage.first = faults.first;
  damage.first_offset = faults.first_offset;
  for (size_t i = 0; i < part->found_.size(); ++i) {
    const FoundBlock& block = part->found_[i];
    part->blocks_.push_back(block_info(block));
    if (static_cast<BlockKind>(block.header.kind) == BlockKind::kHeader) {
      if (auto read = part->read_header(reader, block); !read) {
        part->count_damage(i, read.error(), 0);
      }
    }
  }
  return part;
}

void CapturePart::count_damage(size_t block, const Error& error, uint64_t events_lost) {
  if (counted_[block]) {
    return;
  }
  counted_[block] = true;
  ++damage_.bad_blocks;
  damage_.events_lost += events_lost;
  const FoundBlock& bad = found_[block];
  if (damage_.first.empty() || bad.offset < damage_.first_offset) {
    damage_.first = fmt::format("block {} ({}) at byte {}: {}", bad.header.sequence, block_kind_name(bad.header.kind),
                                bad.offset, error.message());
    damage_.first_offset = bad.offset;
  }
}

// The tables of a file may not become larger than tables compress.
Result<void> CapturePart::check_size(const FoundBlock& block) {
  const uint64_t bytes = table_bytes_ + block.header.raw_bytes;
  const uint64_t stored = table_stored_ + block.header.stored_bytes;
  if (bytes > Capture::table_limit(stored)) {
    return make_error(ErrorKind::kCorrupt, fmt::format("it takes the tables to {} bytes, which is more than the {} "
                                                       "stored ones can be meant to hold",
                                                       bytes, stored));
  }
  table_bytes_ = bytes;
  table_stored_ = stored;
  return {};
}

Result<void> CapturePart::read_header(BlockReader& reader, const FoundBlock& block) {
  STACKMAP_TRY(check_size(block));
  STACKMAP_TRY_VALUE(payload, reader.payload(block));
  has_header_ = true;
  return decode_info(payload, block.header.count, info_);
}

void CapturePart::take_types(std::vector<EventType> types, CaptureTables& tables) {
  for (EventType& type : types) {
    const auto known = std::ranges::find(tables.types, type.id, &EventType::id);
    if (known == tables.types.end()) {
      tables.types.push_back(std::move(type));
    } else if (tables.several && *known != type) {
      contradiction_ = fmt::format("it has another event type {} than the files before it", type.id);
    }
  }
}

void CapturePart::take_string(uint64_t id, std::string_view text, CaptureTables& tables) {
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

void CapturePart::take_stack(Cookie cookie, std::span<const uint64_t> frames, CaptureTables& tables) {
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

void CapturePart::take_symbol(uint64_t address, KernelSymbol symbol, CaptureTables& tables) const {
  const auto [it, is_new] = tables.symbols.try_emplace(address, std::move(symbol));
  if (!is_new && tables.several && it->second != symbol) {
    tables.disagreed.insert(address);
  }
}

// What a file saw before its first event holds from there: the files before it know better about earlier times.
void CapturePart::take_tasks(CaptureTables& tables) {
  uint64_t begin = 0;
  for (const BlockInfo& block : blocks_) {
    if (static_cast<BlockKind>(block.kind) == BlockKind::kEvents) {
      begin = begin == 0 ? block.first_ns : std::min(begin, block.first_ns);
    }
  }
  std::vector<TaskRecord> records = tasks_.records();
  for (size_t i = 0; i < records.size(); ++i) {
    TaskRecord& record = records[i];
    const bool is_last_before =
        i + 1 == records.size() || records[i + 1].tid != record.tid || records[i + 1].time_ns > begin;
    if (tables.files_read != 0 && record.change == TaskChange::kSeen && record.time_ns < begin && is_last_before) {
      record.time_ns = begin;
    }
    const TaskRecord* known = tables.tasks.find(record.tid, record.time_ns);
    if (known == nullptr || *known != record) {
      tables.tasks.add(std::move(record));
    }
  }
  tasks_ = {};
}

Result<void> CapturePart::read_table(BlockReader& reader, const FoundBlock& block, CaptureTables& tables) {
  const BlockHeader& header = block.header;
  STACKMAP_TRY(check_size(block));
  STACKMAP_TRY_VALUE(payload, reader.payload(block));
  switch (static_cast<BlockKind>(header.kind)) {
    case BlockKind::kEventTypes: {
      std::vector<EventType> types;
      const auto decoded = decode_event_types(payload, header.count, types);
      take_types(std::move(types), tables);
      return decoded;
    }
    case BlockKind::kStrings:
      return decode_strings(payload, header.count,
                            [&](uint64_t id, std::string_view text) { take_string(id, text, tables); });
    case BlockKind::kTasks:
      return decode_tasks(payload, header.count, header.first_ns,
                          [&](TaskRecord record) { (tables.several ? tasks_ : tables.tasks).add(std::move(record)); });
    case BlockKind::kStacks:
      return decode_stacks(payload, header.count, [&](uint32_t slot, std::span<const uint64_t> frames) {
        take_stack(Cookie(header.generation, slot), frames, tables);
      });
    case BlockKind::kSymbols:
      return decode_symbols(payload, header.count, [&](uint64_t address, KernelSymbol symbol) {
        take_symbol(address, std::move(symbol), tables);
      });
    case BlockKind::kLedger:
      return decode_ledger(payload, header.count, ledger_);
    case BlockKind::kAnchors:
      return decode_anchors(payload, header.count, info_.anchors);
    case BlockKind::kRefs:
      return decode_refs(payload, header.count, [&](uint32_t slot, uint64_t ref) {
        const auto it = tables.stacks.places.find(Cookie(header.generation, slot));
        if (it != tables.stacks.places.end()) {
          it->second.ref = ref;
        }
      });
    default:
      end_events_ = ByteReader(payload).varint();
      damage_.closed = true;
      return {};
  }
}

Result<void> CapturePart::read_tables(CaptureTables& tables) {
  BlockReader reader(*file_);
  several_ = tables.several;
  first_frame_ = tables.stacks.frames.size();
  for (size_t i = 0; i < found_.size(); ++i) {
    const auto kind = static_cast<BlockKind>(found_[i].header.kind);
    if (kind == BlockKind::kEvents) {
      events_ += found_[i].header.count;
    } else if (!is_table(kind)) {
      ++damage_.unknown_blocks;
    } else if (kind != BlockKind::kHeader) {
      if (auto read = read_table(reader, found_[i], tables); !read) {
        count_damage(i, read.error(), 0);
      }
    }
    if (!contradiction_.empty()) {
      return make_error(ErrorKind::kCorrupt,
                        fmt::format("{} is no segment of the recording: {}", name(), contradiction_), "read it alone");
    }
  }
  end_frame_ = tables.stacks.frames.size();
  if (tables.several) {
    take_tasks(tables);
  }
  ++tables.files_read;
  return {};
}

void CapturePart::read_symbols(const std::function<void(uint64_t address, KernelSymbol symbol)>& take) {
  BlockReader reader(*file_);
  for (const FoundBlock& block : found_) {
    if (static_cast<BlockKind>(block.header.kind) == BlockKind::kSymbols) {
      // What is damaged is counted by read_tables().
      if (auto payload = reader.payload(block)) {
        (void)decode_symbols(*payload, block.header.count, take);
      }
    }
  }
}

void CapturePart::use_stand_ins(CaptureTables& tables) {
  if (stand_ins_.empty()) {
    return;
  }
  for (size_t i = first_frame_; i < end_frame_; ++i) {
    uint64_t& frame = tables.stacks.frames[i];
    const auto it = stand_ins_.find(frame);
    frame = it != stand_ins_.end() ? it->second : frame;
  }
}

}  // namespace stackmap
