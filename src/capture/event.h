// SPDX-License-Identifier: Apache-2.0
// Events as a capture holds them: types that describe their own fields, and single events. In-memory types; their bytes
// on disk are FORMAT.md's matter.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stackmap/cookie.h"

namespace stackmap {

// How a field's 64 bits are meant and printed. Numbers are on disk: append only.
enum class FieldFormat : uint8_t {
  kUnsigned = 0,
  kSigned = 1,     // two's complement
  kHex = 2,        // 0x...
  kString = 3,     // an id for Capture::string()
  kTid = 4,        // a thread; its name is in the task table
  kTaskState = 5,  // prev_state of sched_switch: S D T t X Z P I, R for 0, "+" at 0x100
  kRepeat = 6,     // the event stands for so many that are alike, and counts that often
};

struct FieldType {
  std::string name;
  FieldFormat format = FieldFormat::kUnsigned;
  bool operator==(const FieldType&) const = default;
};

struct EventType {
  uint16_t id = 0;  // fixed for the known ones (see below); from kFirstFreeEventType for any other tracepoint
  std::string category;
  std::string name;
  std::vector<FieldType> fields;

  std::string full_name() const { return category + ":" + name; }
  std::optional<size_t> field(std::string_view field_name) const;
  bool operator==(const EventType&) const = default;
};

// Numbers of the events that have a program of their own. On disk, and the programs': append only.
enum KnownEvent : uint16_t {
  kKmalloc = 1,
  kKmemCacheAlloc = 2,
  kKfree = 3,
  kKmemCacheFree = 4,
  kMmPageAlloc = 5,
  kMmPageFree = 6,
  kSchedSwitch = 7,
  kSchedWaking = 8,
  kSchedWakeup = 9,
  kSchedWakeupNew = 10,
  kSchedProcessFork = 11,
  kSchedProcessExec = 12,
  kSchedProcessExit = 13,
  kKmallocNode = 14,
  kKmemCacheAllocNode = 15,
  // Records that the programs send (record/kinds.h), and no event types: never in a capture.
  kTaskRename = 16,
  kAnyEventFields = 29,  // a tracepoint without a program of its own, with some of its fields
  kBatch = 30,
  kAnyEvent = 31,  // a tracepoint without a program of its own
};
inline constexpr uint16_t kFirstFreeEventType = 64;

// The event types among them, in the order of their numbers.
const std::vector<EventType>& known_event_types();

struct StackRef {
  // On disk: append only.
  enum class State : uint8_t {
    kNone = 0,      // the event was taken without a stack
    kCookie = 1,    // stored in the map
    kFallback = 2,  // recorded in full, in the event
    kError = 3,     // the kernel gave an errno instead
  };
  State state = State::kNone;
  int errnum = 0;                    // positive; kError only
  Cookie cookie;                     // kCookie only
  std::span<const uint64_t> frames;  // innermost first, return addresses; kFallback only
};

// One event. The spans are valid during the callback that hands it over.
struct Event {
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  uint32_t cpu = 0;
  uint32_t tid = 0;  // the thread that was running
  uint16_t type = 0;
  StackRef stack;                    // of the kernel
  std::span<const uint64_t> fields;  // as many as the type has, in its order
};

}  // namespace stackmap
