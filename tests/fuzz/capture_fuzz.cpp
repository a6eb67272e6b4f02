// SPDX-License-Identifier: Apache-2.0
// Any bytes as a capture. The header's checksums are mended first, or nearly every input would end there. Whatever it
// is, a copy of it is sound.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "capture/block.h"
#include "capture/capture.h"
#include "capture/copy_capture.h"
#include "fuzz/allocation_bound.h"
#include "support/faulty_file.h"

using namespace stackmap;

namespace {

uint32_t load32(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, 4);
  return value;
}
void store32(std::string& bytes, size_t at, uint32_t value) {
  std::memcpy(bytes.data() + at, &value, 4);
}

void mend_checksums(std::string& bytes) {
  const std::string start(reinterpret_cast<const char*>(kBlockStart.data()), kBlockStart.size());
  for (size_t at = bytes.find(start); at != std::string::npos; at = bytes.find(start, at + 1)) {
    if (bytes.size() - at < kBlockHeaderBytes) {
      return;
    }
    const size_t stored = load32(bytes, at + 52);
    if (stored <= bytes.size() - at - kBlockHeaderBytes) {
      store32(bytes, at + 56, crc32c(bytes_of(bytes).subspan(at + kBlockHeaderBytes, stored)));
    }
    store32(bytes, at + 76, crc32c(bytes_of(bytes).subspan(at + 8, kBlockHeaderBytes - 12)));
  }
}

void read_events(const Capture& capture) {
  constexpr uint64_t kMost = 200000;
  uint64_t events = 0;
  const auto read = capture.for_each_event([&](const Event& event) {
    ++events;
    (void)capture.stack(event.stack.cookie);
    const EventType* type = capture.event_type(event.type);
    if (type != nullptr && event.fields.size() != type->fields.size()) {
      std::abort();
    }
    return events < kMost;
  });
  if (!read || (events < kMost && events + capture.damage().events_lost != capture.event_count())) {
    std::abort();
  }
}

// Everything that a report asks of it.
void read_tables(const Capture& capture) {
  size_t length = 0;
  const auto stacks = capture.counted_stacks();
  if (!stacks) {
    std::abort();
  }
  for (const CapturedStack& stack : *stacks) {
    if (!std::ranges::equal(stack.frames, capture.stack(stack.cookie))) {
      std::abort();
    }
    for (const uint64_t frame : stack.frames) {
      length += capture.symbol_text(frame).size();
    }
  }
  for (const TaskRecord& record : capture.tasks().records()) {
    length += capture.tasks().name(record.tid, record.time_ns).comm.size();
  }
  for (const auto& [name, value] : capture.ledger().entries()) {
    if (capture.ledger().get(name) != value) {
      std::abort();
    }
  }
  for (const BlockInfo& block : capture.blocks()) {
    length += block_kind_name(block.kind).size();
  }
  if (length == SIZE_MAX) {
    std::abort();
  }
}

void check_copy(const Capture& from) {
  const auto disk = std::make_shared<stackmap_test::Disk>();
  auto writer = CaptureWriter::create(std::make_unique<stackmap_test::FaultyFile>(disk), copy_info(from, {}),
                                      from.event_types(), copy_writer_options());
  if (!writer) {
    return;
  }
  const auto totals = copy_capture(from, **writer, {});
  if (!totals) {
    return;
  }
  const auto copy = Capture::open(memory_file(disk->bytes, "copy"));
  uint64_t events = 0;
  if (!copy || !copy->for_each_event([&](const Event& event) {
        const auto stack = copy->stack(event.stack.cookie);
        const auto before = from.stack(event.stack.cookie);
        if (event.stack.state == StackRef::State::kCookie && !std::ranges::equal(stack, before)) {
          std::abort();
        }
        return ++events != 0;
      })) {
    std::abort();
  }
  if (copy->damage().any() || !copy->damage().closed || events != totals->events) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  mend_checksums(bytes);
  std::optional<stackmap_test::AllocationBound> bound(Capture::memory_bound(size));
  auto capture = Capture::open(memory_file(std::move(bytes), "fuzz"));
  if (capture) {
    read_events(*capture);
    read_tables(*capture);
    // As `inspect --verify` does: a second time finds the same damage, and counts it once.
    const Damage before = capture->damage();
    read_events(*capture);
    if (capture->damage().bad_blocks != before.bad_blocks || capture->damage().events_lost != before.events_lost) {
      std::abort();
    }
    bound.reset();
    if (capture->event_count() < 100000) {
      check_copy(*capture);
    }
  }
  return 0;
}
