// SPDX-License-Identifier: Apache-2.0
// A capture, read. open() reads every table (event types, stacks, symbols, tasks, strings, ledger) and checks every
// block header; the events themselves are read when they are asked for, block by block. Memory follows the tables, not
// the events, and never exceeds memory_bound(): a table whose contents would take the tables above table_limit() is
// dropped as a damaged block.
//
// Damage is never fatal as long as the file is a capture at all: a damaged block is skipped, a torn tail is the end,
// and damage() says what was dropped. An event whose stack went with a damaged block has a cookie that stack() does not
// know; it never gets another stack.
//
// Not thread-safe, except that two Capture objects are independent.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/result.h"
#include "capture/event.h"
#include "capture/ledger.h"
#include "process/host.h"
#include "process/kernel_symbol.h"
#include "process/task_table.h"
#include "stackmap/cookie.h"

namespace stackmap {

struct CaptureInfo {
  HostInfo host;
  std::string tool;                  // "stackmap 0.1.0"
  std::string command;               // of the recorder, its arguments joined by spaces
  std::string symbol_source;         // who named the frames
  uint32_t map_capacity = 0;         // stacks a generation
  uint32_t max_depth = 0;            // frames a stack
  uint64_t ring_bytes = 0;           // a CPU
  std::vector<ClockAnchor> anchors;  // at the start, and at later flushes
  bool operator==(const CaptureInfo&) const;
};

struct CapturedStack {
  Cookie cookie;
  std::span<const uint64_t> frames;  // innermost first, return addresses
  uint64_t ref = 0;                  // cookies handed out for it, as the last written counts say
};

// What could not be read.
struct Damage {
  uint64_t bad_blocks = 0;      // header or checksum wrong, or contents that contradict the format
  uint64_t bytes_skipped = 0;   // between good blocks
  uint64_t torn_bytes = 0;      // an unfinished block at the end
  uint64_t unknown_blocks = 0;  // of a kind that this version does not know: skipped, not damage
  uint64_t missing_blocks = 0;  // gaps in the sequence numbers
  uint64_t events_lost = 0;     // events of blocks whose header was whole but whose contents were not
  bool closed = false;          // the end block is there: the recorder stopped cleanly
  std::string first;            // the first fault, with its offset in the file; empty if there is none
  bool any() const { return bad_blocks + bytes_skipped + torn_bytes + missing_blocks != 0; }
};

struct BlockInfo {
  uint64_t offset = 0;
  uint64_t stored_bytes = 0;  // header included
  uint64_t raw_bytes = 0;
  uint16_t kind = 0;
  uint64_t sequence = 0;
  uint32_t generation = 0;
  uint32_t count = 0;
  uint64_t first_ns = 0;
  uint64_t last_ns = 0;
};

class Capture {
 public:
  // kCorrupt if it is no capture, or of a later major version; kFailed if it cannot be read.
  static Result<Capture> open(const std::string& path);
  static Result<Capture> open(std::unique_ptr<ReadableFile> file);
  // Bytes that the tables may have when they are decompressed, by their bytes as stored: far above what tables compress
  // to, so that a few bytes cannot ask for much memory.
  static constexpr uint64_t table_limit(uint64_t stored) { return (uint64_t{4} << 20) + 64 * stored; }
  // Most memory that a capture of so many bytes takes, and reading its events, in bytes.
  static constexpr uint64_t memory_bound(uint64_t file_bytes) {
    return (uint64_t{512} << 20) + 64 * table_limit(file_bytes) + 16 * file_bytes;
  }
  Capture(Capture&&) noexcept;
  Capture& operator=(Capture&&) noexcept;
  ~Capture();

  const std::string& name() const;
  const CaptureInfo& info() const;
  const std::vector<EventType>& event_types() const;
  const EventType* event_type(uint16_t id) const;  // null if unknown
  std::string_view string(uint64_t id) const;      // "?" if unknown

  // Frames of a cookie; empty if the capture does not hold that stack.
  std::span<const uint64_t> stack(Cookie cookie) const;
  // Every stack, by generation and slot.
  std::vector<CapturedStack> stacks() const;
  // The same, with `ref` counted from the events where the recorder left no final counts.
  Result<std::vector<CapturedStack>> counted_stacks() const;
  // The name of a kernel return address as it was when the capture was taken; null if it carries none.
  const KernelSymbol* symbol(uint64_t address) const;
  // Every address that the capture names, in no order.
  void for_each_symbol(const std::function<void(uint64_t address, const KernelSymbol&)>& callback) const;
  // "name+0xoff/0xsize [module]" of it; "0x..." where there is no name.
  std::string symbol_text(uint64_t address) const;
  const TaskTable& tasks() const;
  const Ledger& ledger() const;
  const Damage& damage() const;
  const std::vector<BlockInfo>& blocks() const;
  // Events as the block headers count them.
  uint64_t event_count() const;

  // Every event, in the order of the file: in order of time within one CPU, not across CPUs. Damaged blocks are skipped
  // and counted in damage(). The callback returns false to stop.
  Result<void> for_each_event(const std::function<bool(const Event&)>& callback) const;

 private:
  struct State;
  explicit Capture(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The name of a block kind, for people.
std::string_view block_kind_name(uint16_t kind);

}  // namespace stackmap
