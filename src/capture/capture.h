// SPDX-License-Identifier: Apache-2.0
// A capture, read. open() reads every table (event types, stacks, symbols, tasks, strings, ledger) and checks every
// block header; the events themselves are read when they are asked for, block by block. Memory follows the tables, not
// the events, and never exceeds memory_bound() a file: a table whose contents would take the tables above table_limit()
// is dropped as a damaged block.
//
// The segments of one recording, each a file, are joined into one capture, in the order of their numbers. Strings have
// ids of the joined capture, tasks are merged in time, ledgers are added up (but `map.*`, a state: the last one's). A
// name belongs to its segment, since modules come and go: where segments name an address differently, a frame is a
// stand-in for the address, so that symbol() and symbol_text() of a frame are always right; address() gives the
// address. A segment that has lost its own name of an address takes the others', if these agree.
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
  uint64_t session = 0;              // a random number, the same for all segments of a recording; 0: of its own
  uint64_t segment = 0;              // 1, 2, ...; 0: not one of several
  std::vector<ClockAnchor> anchors;  // at the start, and at later flushes
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
  std::string first;            // the first fault: [FILE: ] block, offset in the file; empty if there is none
  uint64_t first_offset = 0;    // in its file
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

// One of the files that a capture was read from.
struct CaptureFile {
  std::string name;
  uint64_t segment = 0;  // 0: not one of several
  uint64_t bytes = 0;
  uint64_t events = 0;    // as the block headers count them
  uint64_t first_ns = 0;  // of its events; 0 if there are none
  uint64_t last_ns = 0;
  std::vector<BlockInfo> blocks;
  Ledger ledger;
  Damage damage;
};

class Capture {
 public:
  // kCorrupt if it is no capture, or of a later major version; kFailed if it cannot be read.
  static Result<Capture> open(const std::string& path);
  static Result<Capture> open(std::unique_ptr<ReadableFile> file);
  // The segments of one recording, in any order. kUsage if they are not of one, if one is there twice, or if there are
  // none; kCorrupt if two of them contradict each other. One file may be anything that open() takes.
  static Result<Capture> open(const std::vector<std::string>& paths);
  static Result<Capture> open(std::vector<std::unique_ptr<ReadableFile>> files);
  // Bytes that the tables of a file may have when they are decompressed, by their bytes as stored: far above what
  // tables compress to, so that a few bytes cannot ask for much memory.
  static constexpr uint64_t table_limit(uint64_t stored) { return (uint64_t{4} << 20) + 64 * stored; }
  // Most memory that a capture of so many bytes takes, and reading its events, in bytes.
  static constexpr uint64_t memory_bound(uint64_t file_bytes) {
    return (uint64_t{512} << 20) + 64 * table_limit(file_bytes) + 16 * file_bytes;
  }
  Capture(Capture&&) noexcept;
  Capture& operator=(Capture&&) noexcept;
  ~Capture();

  // The file's name; of several the part that they share (NAME of NAME-000001.smc ...), else the first one's.
  const std::string& name() const;
  // Of several: the first one's, with the anchors of all; segment is 0.
  const CaptureInfo& info() const;
  std::vector<CaptureFile> files() const;  // in the order of their events
  size_t file_count() const;
  // "segments 3 to 5 are not there": gaps in the numbers of several files, and before the first. Empty if there are
  // none.
  const std::string& missing_segments() const;
  const std::vector<EventType>& event_types() const;
  const EventType* event_type(uint16_t id) const;  // null if unknown
  std::string_view string(uint64_t id) const;      // "?" if unknown

  // Frames of a cookie; empty if the capture does not hold that stack.
  std::span<const uint64_t> stack(Cookie cookie) const;
  // Every stack, by generation and slot.
  std::vector<CapturedStack> stacks() const;
  // The same, with `ref` counted from the events where the recorder left no final counts.
  Result<std::vector<CapturedStack>> counted_stacks() const;
  // The name of a frame's address as it was when the capture was taken; null if it carries none.
  const KernelSymbol* symbol(uint64_t frame) const;
  // "name+0xoff/0xsize [module]" of it; "0x..." where there is no name.
  std::string symbol_text(uint64_t frame) const;
  // The return address that a frame is of: itself, but where it is a stand-in.
  uint64_t address(uint64_t frame) const;
  // Every frame that has a name, or is known to have none, by number.
  std::vector<std::pair<uint64_t, const KernelSymbol*>> symbols() const;
  // Every string, by id.
  std::vector<std::pair<uint64_t, std::string_view>> strings() const;
  const TaskTable& tasks() const;
  const Ledger& ledger() const;
  const Damage& damage() const;           // of all files
  std::vector<BlockInfo> blocks() const;  // of all files, one after the other
  // Events as the block headers count them.
  uint64_t event_count() const;
  // The same, or what the recorder counted at the end of a file, if that is more: whole blocks are gone.
  uint64_t events_expected() const;

  // Every event, in the order of the files: in order of time within one CPU, not across CPUs. Damaged blocks are
  // skipped and counted in damage(). The callback returns false to stop.
  Result<void> for_each_event(const std::function<bool(const Event&)>& callback) const;

 private:
  struct State;
  explicit Capture(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The name of a block kind, for people.
std::string_view block_kind_name(uint16_t kind);

}  // namespace stackmap
