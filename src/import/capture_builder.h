// SPDX-License-Identifier: Apache-2.0
// A capture in the making, of all that an import reads: event types, threads, stacks, events in the order in which they
// are to stand, and counters. Nothing is written before write().
//
// Holds all of it in memory. Texts of events are not copied: they must outlive the builder. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "capture/capture.h"
#include "capture/event.h"
#include "capture/ledger.h"
#include "import/frame_names.h"
#include "import/imported_stacks.h"
#include "import/thread_names.h"

namespace stackmap {

class CaptureWriter;

class CaptureBuilder {
 public:
  // The format's highest number of a type is 4095; the encoder takes those below it.
  static constexpr size_t kMaxTypes = 4095 - kFirstFreeEventType;
  // Frames of a stack: more, and a reader takes its block for damaged.
  static constexpr size_t kMaxDepth = 65536;
  // set_stack() gives a deeper one no cookie: a reader drops tables that are 64 times what is stored of them, and many
  // deep recursions are, since a frame that calls itself takes next to nothing.
  static constexpr size_t kMaxCookieDepth = 128;

  struct Head {
    uint64_t time_ns = 0;
    uint32_t cpu = 0;
    uint32_t tid = 0;
    uint16_t type = 0;  // of add_type()
  };

  explicit CaptureBuilder(FrameText frames) : names_(frames) {}

  FrameNames& names() { return names_; }
  ThreadNames& threads() { return threads_; }
  ImportedStacks& stacks() { return stacks_; }
  const ImportedStacks& stacks() const { return stacks_; }
  Ledger& ledger() { return ledger_; }
  const Ledger& ledger() const { return ledger_; }
  size_t events() const { return events_.size(); }

  std::optional<uint16_t> find_type(std::string_view category, std::string_view name) const;
  size_t types() const { return types_.size(); }
  // A type that is not there yet, while types() is below kMaxTypes.
  uint16_t add_type(std::string category, std::string name, std::vector<FieldType> fields);

  // The value of a field that is a string.
  uint64_t text(std::string_view text);
  // An event without a stack, with as many fields as its type has. Returns its number, which the following take.
  size_t add_event(const Head& head, std::span<const uint64_t> fields);
  void set_cookie(size_t event, Cookie cookie);
  // A stack in the event itself: its frames are added one by one, innermost first, at most kMaxDepth, before the next
  // event's stack begins.
  void begin_stack(size_t event);
  void add_frame(size_t event, uint64_t address);
  // All of a stack that the text has no cookie for, at most kMaxDepth frames: interned, or in the event.
  void set_stack(size_t event, std::span<const uint64_t> frames);
  size_t depth(size_t event) const { return events_[event].depth; }
  // Calls `take` with the cookie of every event that has one.
  template <typename Take>
  void for_each_cookie(const Take& take) const {
    for (const Built& event : events_) {
      if (event.state == StackRef::State::kCookie) {
        take(event.cookie);
      }
    }
  }

  // Writes the capture: names, threads and stacks, then the events, then the counts. Of `info` the caller fills what
  // describes him.
  Result<void> write(std::unique_ptr<WritableFile> file, const CaptureInfo& info) const;

 private:
  struct Built {
    Head head;
    StackRef::State state = StackRef::State::kNone;
    uint32_t depth = 0;
    Cookie cookie;
    size_t first_frame = 0;  // in frames_
    size_t first_field = 0;  // in fields_
  };
  const EventType& type_of(const Built& event) const { return types_[event.head.type - kFirstFreeEventType]; }
  Result<void> write_tables(CaptureWriter& writer) const;
  Result<void> write_events(CaptureWriter& writer) const;
  Result<void> write_refs(CaptureWriter& writer) const;

  FrameNames names_;
  ThreadNames threads_;
  ImportedStacks stacks_;
  std::vector<EventType> types_;
  std::unordered_map<std::string, uint16_t> type_ids_;  // by full name
  std::vector<Built> events_;
  std::vector<uint64_t> fields_;
  std::vector<std::string_view> texts_;
  std::vector<uint64_t> frames_;  // of the stacks that are in events
  Ledger ledger_;
};

}  // namespace stackmap
