// SPDX-License-Identifier: Apache-2.0
#include "capture/pending_tables.h"

#include <algorithm>
#include <utility>

#include "capture/tables.h"

namespace stackmap {

void PendingTables::add_event_type(const EventType& type) {
  encode_event_type(type, types_.payload);
  ++types_.count;
}

uint64_t PendingTables::string_id(std::string_view text) {
  const auto [it, is_new] = string_ids_.try_emplace(std::string(text), string_ids_.size());
  if (is_new) {
    encode_string(it->second, text, strings_.payload);
    ++strings_.count;
  }
  return it->second;
}

void PendingTables::add_stack(Cookie cookie, std::span<const uint64_t> frames) {
  stacks_generation_ = cookie.generation();
  encode_stack(cookie.slot(), frames, stacks_.before, stacks_.payload);
  ++stacks_.count;
}

void PendingTables::add_symbol(uint64_t address, const KernelSymbol& symbol) {
  encode_symbol(address, symbol, symbols_.before, symbols_.payload);
  ++symbols_.count;
}

Result<void> PendingTables::write_table(BlockWriter& blocks, BlockKind kind, Table& table, uint32_t generation) {
  if (table.count == 0) {
    return {};
  }
  BlockHeader header;
  header.kind = static_cast<uint16_t>(kind);
  header.count = table.count;
  header.generation = generation;
  STACKMAP_TRY(blocks.write(header, table.payload));
  table.payload.clear();
  table.count = 0;
  table.before = 0;
  return {};
}

Result<void> PendingTables::write_stacks(BlockWriter& blocks) {
  return write_table(blocks, BlockKind::kStacks, stacks_, stacks_generation_);
}

Result<void> PendingTables::write_tasks(BlockWriter& blocks) {
  size_t done = 0;
  while (done < tasks_.size()) {
    std::string payload;
    BlockHeader header;
    header.kind = static_cast<uint16_t>(BlockKind::kTasks);
    const auto [first, last] =
        std::minmax_element(tasks_.begin() + static_cast<ptrdiff_t>(done), tasks_.end(),
                            [](const TaskRecord& a, const TaskRecord& b) { return a.time_ns < b.time_ns; });
    header.first_ns = first->time_ns;
    header.last_ns = last->time_ns;
    size_t end = done;
    while (end < tasks_.size() && payload.size() < kTableBytes) {
      encode_task(tasks_[end++], header.first_ns, payload);
    }
    header.count = static_cast<uint32_t>(end - done);
    if (auto written = blocks.write(header, payload); !written) {
      tasks_.erase(tasks_.begin(), tasks_.begin() + static_cast<ptrdiff_t>(done));
      return written;
    }
    done = end;
  }
  tasks_.clear();
  return {};
}

Result<void> PendingTables::write(BlockWriter& blocks) {
  STACKMAP_TRY(write_table(blocks, BlockKind::kEventTypes, types_));
  STACKMAP_TRY(write_table(blocks, BlockKind::kStrings, strings_));
  STACKMAP_TRY(write_tasks(blocks));
  STACKMAP_TRY(write_stacks(blocks));
  return write_table(blocks, BlockKind::kSymbols, symbols_);
}

}  // namespace stackmap
