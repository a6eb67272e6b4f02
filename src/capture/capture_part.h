// SPDX-License-Identifier: Apache-2.0
// One file of a capture, and the tables that all files of a capture fill together. For Capture alone: its users include
// capture/capture.h.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "capture/block_reader.h"
#include "capture/capture.h"

namespace stackmap {

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

// A frame that stands for an address whose name is not the same in all files.
struct StandIn {
  uint64_t address = 0;
  KernelSymbol symbol;  // always known: the address as text where its file has no name for it
};
// Stand-ins are numbered from here. Not canonical on x86-64, no kernel or user address on arm64: no frame is there.
inline constexpr uint64_t kStandInBase = 0x5354000000000000;

struct CaptureTables {
  bool several = false;  // files
  size_t files_read = 0;
  std::vector<EventType> types;
  std::unordered_map<uint64_t, std::string> strings;
  std::unordered_map<std::string, uint64_t> string_ids;  // of several: the same, by text
  StackTable stacks;
  std::unordered_map<uint64_t, KernelSymbol> symbols;  // the first name of each address
  std::unordered_set<uint64_t> disagreed;              // addresses that were named again, with another name
  std::vector<StandIn> stand_ins;
  TaskTable tasks;
};

// What the events' decoder and the strings' translation need to know of the types.
struct EventLayout {
  explicit EventLayout(const std::vector<EventType>& types);
  std::vector<uint16_t> fields;   // by type
  std::vector<uint32_t> strings;  // by type: bit i says that field i is a string
};

class CapturePart {
 public:
  // Finds the blocks and reads the header. Errors as Capture::open().
  static Result<std::unique_ptr<CapturePart>> open(std::unique_ptr<ReadableFile> file);

  // Reads every table but the header; call it once. The files of a capture are read in their order.
  // kCorrupt if this file contradicts the ones before it: then it is none of theirs.
  Result<void> read_tables(CaptureTables& tables);
  // Calls `take` for every symbol entry of the file, in order.
  void read_symbols(const std::function<void(uint64_t address, KernelSymbol symbol)>& take);
  // From here on `frame` stands for `address` in this file. The frames of its stacks are rewritten by use_stand_ins().
  void stand_in(uint64_t address, uint64_t frame) { stand_ins_.emplace(address, frame); }
  void use_stand_ins(CaptureTables& tables);

  // Every event, its strings and frames as the capture's tables have them. False if the callback stopped it.
  Result<bool> for_each_event(const EventLayout& layout, const std::function<bool(const Event&)>& callback);

  const std::string& name() const { return file_->name(); }
  const CaptureInfo& info() const { return info_; }
  const Ledger& ledger() const { return ledger_; }
  const Damage& damage() const { return damage_; }
  const std::vector<BlockInfo>& blocks() const { return blocks_; }
  bool has_header() const { return has_header_; }
  uint64_t events() const { return events_; }  // as the block headers count them
  // As the end block counts them, where it is there: those of blocks that are gone as well.
  uint64_t events_expected() const { return std::max(events_, end_events_); }
  uint64_t size() const { return file_->size(); }

 private:
  explicit CapturePart(std::unique_ptr<ReadableFile> file) : file_(std::move(file)) {}
  Result<void> read_header(BlockReader& reader, const FoundBlock& block);
  Result<void> read_table(BlockReader& reader, const FoundBlock& block, CaptureTables& tables);
  void take_types(std::vector<EventType> types, CaptureTables& tables);
  void take_string(uint64_t id, std::string_view text, CaptureTables& tables);
  void take_stack(Cookie cookie, std::span<const uint64_t> frames, CaptureTables& tables);
  void take_symbol(uint64_t address, KernelSymbol symbol, CaptureTables& tables) const;
  void take_tasks(CaptureTables& tables);
  Result<void> check_size(const FoundBlock& block);
  void count_damage(size_t block, const Error& error, uint64_t events_lost);
  Event translate(const Event& event, const EventLayout& layout);

  std::unique_ptr<ReadableFile> file_;
  std::vector<FoundBlock> found_;
  std::vector<BlockInfo> blocks_;
  std::vector<bool> counted_;  // the blocks whose damage is counted: each is once
  bool has_header_ = false;
  bool several_ = false;
  CaptureInfo info_;
  Ledger ledger_;
  Damage damage_;
  uint64_t events_ = 0;
  uint64_t end_events_ = 0;
  uint64_t table_bytes_ = 0;   // of the tables so far, decompressed
  uint64_t table_stored_ = 0;  // and as they are stored
  TaskTable tasks_;
  std::unordered_map<uint64_t, uint64_t> string_ids_;  // own -> the capture's, where there are several files
  size_t first_frame_ = 0;                             // of the file's own in the stack table
  size_t end_frame_ = 0;
  std::string contradiction_;  // to the files before; empty if there is none
  std::unordered_map<uint64_t, uint64_t> stand_ins_;
  // The event at hand, translated.
  std::vector<uint64_t> frames_;
  std::array<uint64_t, 16> fields_{};
};

// Puts the files of one recording in their order. kUsage, with which and why, if they are not of one.
Result<void> order_parts(std::vector<std::unique_ptr<CapturePart>>& parts);
// Once all tables are read: gives stand-ins to the addresses that the files name differently.
void join_symbols(std::vector<std::unique_ptr<CapturePart>>& parts, CaptureTables& tables);
CaptureInfo join_infos(const std::vector<std::unique_ptr<CapturePart>>& parts);
Ledger join_ledgers(const std::vector<std::unique_ptr<CapturePart>>& parts);
Damage join_damage(const std::vector<std::unique_ptr<CapturePart>>& parts);
// "segments 3 to 5 are not there"; empty if none is missing between those that are, or before them.
std::string missing_segments(const std::vector<std::unique_ptr<CapturePart>>& parts);
// NAME of files that are all called NAME-NNNNNN.smc; else the name of the first.
std::string joined_name(const std::vector<std::unique_ptr<CapturePart>>& parts);

}  // namespace stackmap
