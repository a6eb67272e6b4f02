// SPDX-License-Identifier: Apache-2.0
// The table entries of a capture in the making that are not in its file yet. For CaptureWriter alone.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "capture/block_writer.h"
#include "capture/event.h"
#include "process/kernel_symbol.h"
#include "process/task_table.h"

namespace stackmap {

class PendingTables {
 public:
  // A table that grew this large is written before it grows further; well below kMaxRawBlock.
  static constexpr size_t kTableBytes = size_t{4} << 20;

  void add_event_type(const EventType& type);
  // The id of a string, new or known.
  uint64_t string_id(std::string_view text);
  void add_task(TaskRecord record) { tasks_.push_back(std::move(record)); }
  // Stacks are of one generation until they are written.
  void add_stack(Cookie cookie, std::span<const uint64_t> frames);
  void add_symbol(uint64_t address, const KernelSymbol& symbol);
  // Whether a stack of this generation must wait until those of another are written.
  bool has_stacks_beside(uint32_t generation) const { return stacks_.count != 0 && stacks_generation_ != generation; }

  // Writes all that is pending. What a failed write was for stays pending.
  Result<void> write(BlockWriter& blocks);
  Result<void> write_stacks(BlockWriter& blocks);

 private:
  struct Table {
    std::string payload;
    uint32_t count = 0;
    uint64_t before = 0;  // the encoder's memory
  };
  static Result<void> write_table(BlockWriter& blocks, BlockKind kind, Table& table, uint32_t generation = 0);
  Result<void> write_tasks(BlockWriter& blocks);

  std::unordered_map<std::string, uint64_t> string_ids_;
  Table types_;
  Table strings_;
  std::vector<TaskRecord> tasks_;
  Table stacks_;
  uint32_t stacks_generation_ = 0;
  Table symbols_;
};

}  // namespace stackmap
