// SPDX-License-Identifier: Apache-2.0
// One file of a capture. For Capture alone: its users include capture/capture.h.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "capture/block_reader.h"
#include "capture/capture.h"
#include "capture/part_tables.h"

namespace stackmap {

// Holds the tables of a file to what tables compress to.
class TableBudget {
 public:
  // kCorrupt if the tables would become larger than Capture::table_limit() with this block of them.
  Result<void> take(const BlockHeader& header);

 private:
  uint64_t bytes_ = 0;   // of the tables so far, decompressed
  uint64_t stored_ = 0;  // and as they are stored
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
  // As PartTables has them.
  void stand_in(uint64_t address, uint64_t frame) { own_.stand_in(address, frame); }
  void use_stand_ins(CaptureTables& tables) const { own_.use_stand_ins(tables); }

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
  void count_damage(size_t block, const Error& error, uint64_t events_lost);
  uint64_t events_begin() const;

  std::unique_ptr<ReadableFile> file_;
  std::vector<FoundBlock> found_;
  std::vector<BlockInfo> blocks_;
  bool has_header_ = false;
  CaptureInfo info_;
  Ledger ledger_;
  Damage damage_;
  std::vector<bool> counted_;  // the blocks whose damage is counted: each is once
  uint64_t events_ = 0;
  uint64_t end_events_ = 0;
  TableBudget budget_;
  PartTables own_;
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
