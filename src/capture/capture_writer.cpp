// SPDX-License-Identifier: Apache-2.0
#include "capture/capture_writer.h"

#include <random>

#include "base/bytes.h"
#include "base/clock.h"
#include "capture/tables.h"

namespace stackmap {

namespace {

constexpr uint32_t kLookEvery = 16;  // events

uint64_t random_id() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

CaptureWriter::CaptureWriter(std::unique_ptr<WritableFile> file, Options options)
    : options_(options),
      blocks_(std::move(file), options.capture_id != 0 ? options.capture_id : random_id(), options.zstd_level),
      streams_(1) {}

Result<std::unique_ptr<CaptureWriter>> CaptureWriter::create(std::unique_ptr<WritableFile> file,
                                                             const CaptureInfo& info,
                                                             const std::vector<EventType>& types, Options options) {
  std::unique_ptr<CaptureWriter> writer(new CaptureWriter(std::move(file), options));
  std::string payload;
  uint32_t count = 0;
  encode_info(info, payload, count);
  STACKMAP_TRY(writer->write_block(BlockKind::kHeader, count, payload));
  payload.clear();
  for (const ClockAnchor& anchor : info.anchors) {
    encode_anchor(anchor, payload);
  }
  STACKMAP_TRY(writer->write_block(BlockKind::kAnchors, static_cast<uint32_t>(info.anchors.size()), payload));
  payload.clear();
  for (const EventType& type : types) {
    encode_event_type(type, payload);
  }
  STACKMAP_TRY(writer->write_block(BlockKind::kEventTypes, static_cast<uint32_t>(types.size()), payload));
  return writer;
}

Result<void> CaptureWriter::write_block(BlockKind kind, uint32_t count, std::string_view payload, uint32_t generation) {
  BlockHeader header;
  header.kind = static_cast<uint16_t>(kind);
  header.count = count;
  header.generation = generation;
  return blocks_.write(header, payload);
}

void CaptureWriter::open_streams(size_t streams, std::function<void()> settle_stacks) {
  streams_.resize(streams);
  if (streams > 1) {
    for (Stream& stream : streams_) {
      stream.packer = std::make_unique<BlockPacker>(options_.zstd_level);
    }
    settle_stacks_ = std::move(settle_stacks);
  }
}

void CaptureWriter::add_event_type(const EventType& type) {
  tables_.add_event_type(type);
}

uint64_t CaptureWriter::string_id(std::string_view text) {
  const std::lock_guard lock(mutex_);
  return tables_.string_id(text);
}

void CaptureWriter::add_task(TaskRecord record) {
  const std::lock_guard lock(mutex_);
  tables_.add_task(std::move(record));
}

void CaptureWriter::add_stack(Cookie cookie, std::span<const uint64_t> frames) {
  const std::lock_guard lock(mutex_);
  if (tables_.has_stacks_beside(cookie.generation())) {
    // The caller flushes at the end of a generation; add_event() does so too. What is left here is a failed write's.
    (void)tables_.write_stacks(blocks_);
  }
  tables_.add_stack(cookie, frames);
}

void CaptureWriter::add_symbol(uint64_t address, const KernelSymbol& symbol) {
  tables_.add_symbol(address, symbol);
}

Result<void> CaptureWriter::add_event(const Event& event, size_t stream) {
  Stream& into = streams_[stream];
  const bool other_generation = event.stack.state == StackRef::State::kCookie && into.events.generation() != 0 &&
                                into.events.generation() != event.stack.cookie.generation();
  // To add up the columns takes longer than an event that is only a cookie does.
  const bool look = event.stack.state == StackRef::State::kFallback || into.events.events() % kLookEvery == 0;
  if (other_generation || (look && into.events.bytes() >= options_.block_bytes)) {
    STACKMAP_TRY(write_full(into));
  }
  into.events.add(event);
  return {};
}

// What can be done beside the other streams' threads is done before the lock.
Result<void> CaptureWriter::write_full(Stream& stream) {
  if (settle_stacks_) {
    settle_stacks_();
  }
  STACKMAP_TRY(encode(stream));
  const std::lock_guard lock(mutex_);
  STACKMAP_TRY(tables_.write(blocks_));
  return write_encoded(stream);
}

// Makes a block of what is pending, unless there is one.
Result<void> CaptureWriter::encode(Stream& stream) {
  if (stream.encoded.empty() && stream.events.events() != 0) {
    stream.encoded_header = {};
    stream.encoded_header.kind = static_cast<uint16_t>(BlockKind::kEvents);
    stream.encoded_header.count = stream.events.events();
    stream.encoded_header.generation = stream.events.generation();
    stream.encoded_header.first_ns = stream.events.first_ns();
    stream.encoded_header.last_ns = stream.events.last_ns();
    stream.events.finish(stream.encoded);
  }
  if (stream.packer != nullptr && !stream.encoded.empty()) {
    return stream.packer->pack(stream.encoded, stream.packed);
  }
  return {};
}

Result<void> CaptureWriter::write_encoded(Stream& stream) {
  if (stream.encoded.empty()) {
    return {};
  }
  STACKMAP_TRY(stream.packer != nullptr ? blocks_.write(stream.encoded_header, stream.packed)
                                        : blocks_.write(stream.encoded_header, stream.encoded));
  events_written_ += stream.encoded_header.count;
  stream.encoded.clear();
  return {};
}

Result<void> CaptureWriter::flush(const Ledger* ledger) {
  STACKMAP_TRY(tables_.write(blocks_));
  for (Stream& stream : streams_) {
    // Twice: what was collected behind a block that had failed before.
    for (int i = 0; i < 2; ++i) {
      STACKMAP_TRY(encode(stream));
      STACKMAP_TRY(write_encoded(stream));
    }
  }
  if (ledger != nullptr) {
    std::string payload;
    encode_ledger(*ledger, payload);
    STACKMAP_TRY(write_block(BlockKind::kLedger, static_cast<uint32_t>(ledger->entries().size()), payload));
    if (options_.anchors) {
      payload.clear();
      encode_anchor(clock_anchor(), payload);
      STACKMAP_TRY(write_block(BlockKind::kAnchors, 1, payload));
    }
  }
  return {};
}

Result<void> CaptureWriter::write_refs(uint32_t generation, std::span<const std::pair<uint32_t, uint64_t>> refs) {
  size_t done = 0;
  while (done < refs.size()) {
    std::string payload;
    const size_t first = done;
    while (done < refs.size() && payload.size() < PendingTables::kTableBytes) {
      encode_ref(refs[done].first, refs[done].second, payload);
      ++done;
    }
    STACKMAP_TRY(write_block(BlockKind::kRefs, static_cast<uint32_t>(done - first), payload, generation));
  }
  return {};
}

Result<void> CaptureWriter::close(const Ledger& ledger) {
  STACKMAP_TRY(flush(&ledger));
  std::string payload;
  ByteWriter(payload).varint(events_written_);
  STACKMAP_TRY(write_block(BlockKind::kEnd, 0, payload));
  return sync();
}

}  // namespace stackmap
