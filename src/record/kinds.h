// SPDX-License-Identifier: Apache-2.0
// The kinds of record that the BPF programs send: a row of one table each, which says what the kind is for, which
// tracepoint it comes from, and where the fields of its event are. Decoding, templates and batches all read it. The
// in-memory side of bpf/stackmap_record.h's kinds; what the fields are called is capture/event.h's matter.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "capture/event.h"
#include "record/record_layout.h"

namespace stackmap {

// What the BPF programs record now.
enum class RecordPhase : uint32_t {
  kNothing = 0,
  kTasks = 1,   // the task table's records alone
  kEvents = 2,  // and the events
  kCount = 3,   // as kEvents, but what happens often is counted alone, as throttled
};

// A tracepoint of a session that has no program of its own has a number, from here on.
inline constexpr uint32_t kFirstAnyEvent = 32;
// The fields that it keeps (record/trace_kinds.h): how many at most, and where they begin in its record's fields, a
// word each.
inline constexpr size_t kMaxAnyFields = 4;
inline constexpr size_t kAnyFieldsOffset = 8;
// Bytes of the longest string of a sample, its NUL not counted. One of that length may have been cut.
inline constexpr uint32_t kMaxSampleString = 63;
// Frames of the deepest stack that a sample can hold.
inline constexpr uint32_t kMaxSampleFrames = 1023;

enum class KindUse : uint8_t {
  kEvent,         // can be asked for
  kOlderEvent,    // likewise, but on older kernels only: its absence is nothing to tell
  kEventAndTask,  // can be asked for, and is attached in every session, for the task table
  kTask,          // for the task table alone
};

struct KindInfo {
  KnownEvent kind;
  std::string_view category;  // of the tracepoint
  std::string_view name;      // of the tracepoint, and of its BPF program
  KindUse use;
  RecordLayout layout;

  bool feeds_task_table() const { return use == KindUse::kEventAndTask || use == KindUse::kTask; }
  bool can_be_asked_for() const { return use != KindUse::kTask; }
};

// Every kind that has a program of its own.
std::span<const KindInfo> kinds();
// Null if no such tracepoint has a program of its own.
const KindInfo* find_kind(std::string_view category, std::string_view name);

// Of every number that a record's header can have below kFirstAnyEvent. Without fields where that is no kind.
extern const std::array<RecordLayout, kFirstAnyEvent> kRecordLayouts;
inline const RecordLayout& record_layout(uint32_t kind) {
  return kRecordLayouts[kind < kFirstAnyEvent ? kind : 0];
}

}  // namespace stackmap
