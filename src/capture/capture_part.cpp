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

void take_symbol(uint64_t address, KernelSymbol symbol, CaptureTables& tables) {
  const auto [it, is_new] = tables.symbols.try_emplace(address, std::move(symbol));
  if (!is_new && tables.several && it->second != symbol) {
    tables.disagreed.insert(address);
  }
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

Result<void> TableBudget::take(const BlockHeader& header) {
  const uint64_t bytes = bytes_ + header.raw_bytes;
  const uint64_t stored = stored_ + header.stored_bytes;
  if (bytes > Capture::table_limit(stored)) {
    return make_error(ErrorKind::kCorrupt, fmt::format("it takes the tables to {} bytes, which is more than the {} "
                                                       "stored ones can be meant to hold",
                                                       bytes, stored));
  }
  bytes_ = bytes;
  stored_ = stored;
  return {};
}

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

Result<void> CapturePart::read_header(BlockReader& reader, const FoundBlock& block) {
  STACKMAP_TRY(budget_.take(block.header));
  STACKMAP_TRY_VALUE(payload, reader.payload(block));
  has_header_ = true;
  return decode_info(payload, block.header.count, info_);
}

Result<void> CapturePart::read_table(BlockReader& reader, const FoundBlock& block, CaptureTables& tables) {
  const BlockHeader& header = block.header;
  STACKMAP_TRY(budget_.take(block.header));
  STACKMAP_TRY_VALUE(payload, reader.payload(block));
  switch (static_cast<BlockKind>(header.kind)) {
    case BlockKind::kEventTypes: {
      std::vector<EventType> types;
      const auto decoded = decode_event_types(payload, header.count, types);
      own_.take_types(std::move(types), tables);
      return decoded;
    }
    case BlockKind::kStrings:
      return decode_strings(payload, header.count,
                            [&](uint64_t id, std::string_view text) { own_.take_string(id, text, tables); });
    case BlockKind::kTasks:
      return decode_tasks(payload, header.count, header.first_ns,
                          [&](TaskRecord record) { own_.take_task(std::move(record), tables); });
    case BlockKind::kStacks:
      return decode_stacks(payload, header.count, [&](uint32_t slot, std::span<const uint64_t> frames) {
        own_.take_stack(Cookie(header.generation, slot), frames, tables);
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

// The earliest time of an event; 0 if there is none.
uint64_t CapturePart::events_begin() const {
  uint64_t begin = 0;
  for (const BlockInfo& block : blocks_) {
    if (static_cast<BlockKind>(block.kind) == BlockKind::kEvents) {
      begin = begin == 0 ? block.first_ns : std::min(begin, block.first_ns);
    }
  }
  return begin;
}

Result<void> CapturePart::read_tables(CaptureTables& tables) {
  BlockReader reader(*file_);
  own_.begin(tables);
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
    if (!own_.contradiction().empty()) {
      return make_error(ErrorKind::kCorrupt,
                        fmt::format("{} is no segment of the recording: {}", name(), own_.contradiction()),
                        "read it alone");
    }
  }
  own_.end(events_begin(), tables);
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

}  // namespace stackmap
