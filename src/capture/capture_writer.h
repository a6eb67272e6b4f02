// SPDX-License-Identifier: Apache-2.0
// Writes a capture. Tables and events are collected and written in blocks, tables before the events that need them, so
// that any prefix of the file that ends with a block can be read.
//
// After a failed write the pending entries are kept and written again by the next flush.
//
// Events come in streams, each with blocks of its own: one a thread that adds events. Thread safety: the threads of all
// streams may call string_id(), add_task(), add_stack() and add_event() of their own streams at the same time, and
// bytes_written() may be called at any time. Everything else while no other thread calls anything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "capture/block_writer.h"
#include "capture/capture.h"
#include "capture/event.h"
#include "capture/event_block.h"
#include "capture/ledger.h"
#include "capture/pending_tables.h"
#include "process/kernel_symbol.h"
#include "process/task_table.h"

namespace stackmap {

class CaptureWriter {
 public:
  struct Options {
    int zstd_level = 1;
    size_t block_bytes = size_t{256} << 10;  // of events, before compression
    uint64_t capture_id = 0;                 // 0: a random one
    bool anchors = true;                     // at every ledger; not where the events are of another time or machine
  };

  // Writes the header, the first clock anchor and the event types at once.
  static Result<std::unique_ptr<CaptureWriter>> create(std::unique_ptr<WritableFile> file, const CaptureInfo& info,
                                                       const std::vector<EventType>& types, Options options);

  // Before the first event: there are so many streams, in place of one. `settle_stacks` is called before a full block
  // of events is written, and returns when the stacks that its cookies name have been added.
  void open_streams(size_t streams, std::function<void()> settle_stacks);

  // A type that was not known at the start; before the first event of it.
  void add_event_type(const EventType& type);
  // The id of a string, new or known.
  uint64_t string_id(std::string_view text);
  void add_task(TaskRecord record);
  void add_stack(Cookie cookie, std::span<const uint64_t> frames);
  void add_symbol(uint64_t address, const KernelSymbol& symbol);

  // Collects an event; its fields must be as many as its type has, and its strings and its stack must have been added.
  // A full block, or a cookie of another generation than the ones before it, makes it write the stream's pending events
  // first, and the tables. On an error the event was not taken.
  Result<void> add_event(const Event& event, size_t stream = 0);

  // Writes all that is pending, and the ledger and an anchor if `ledger` is given.
  Result<void> flush(const Ledger* ledger);

  // The final counts of one generation's stacks.
  Result<void> write_refs(uint32_t generation, std::span<const std::pair<uint32_t, uint64_t>> refs);

  // Syncs the file: what was flushed is on the disk.
  Result<void> sync() { return blocks_.sync(); }

  // Flushes, writes the end block and syncs the file.
  Result<void> close(const Ledger& ledger);

  uint64_t bytes_written() const { return blocks_.bytes_written(); }
  uint64_t events_written() const { return events_written_; }

 private:
  CaptureWriter(std::unique_ptr<WritableFile> file, Options options);
  Result<void> write_block(BlockKind kind, uint32_t count, std::string_view payload, uint32_t generation = 0);

  // The events of one stream.
  struct Stream {
    EventBlockEncoder events;
    // A block of them that is encoded and could not be written.
    std::string encoded;
    BlockHeader encoded_header;
    std::unique_ptr<BlockPacker> packer;  // null if there is one stream alone, which the writer packs itself
    PackedBlock packed;
  };
  Result<void> write_full(Stream& stream);
  Result<void> encode(Stream& stream);
  Result<void> write_encoded(Stream& stream);

  Options options_;
  std::mutex mutex_;  // of everything but the streams
  BlockWriter blocks_;
  PendingTables tables_;
  std::vector<Stream> streams_;
  std::function<void()> settle_stacks_;
  uint64_t events_written_ = 0;
};

}  // namespace stackmap
