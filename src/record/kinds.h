// SPDX-License-Identifier: Apache-2.0
// The kinds of sample, and the tracepoints that they come from. The in-memory side of bpf/stackmap_record.h's kinds.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace stackmap {

enum class SampleKind : uint8_t {
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
  kTaskRename = 16,
  kAny = 31,
};

// What the BPF programs record now.
enum class RecordPhase : uint32_t {
  kNothing = 0,
  kTasks = 1,   // the task table's records alone
  kEvents = 2,  // and the events
  kCount = 3,   // as kEvents, but what happens often is counted alone, as throttled
};

// Any other tracepoint of a session has a number of its own, from here on.
inline constexpr uint32_t kFirstAnyEvent = 32;
// Bytes of the longest string of a sample, its NUL not counted. One of that length may have been cut.
inline constexpr uint32_t kMaxSampleString = 63;
// Frames of the deepest stack that a sample can hold.
inline constexpr uint32_t kMaxSampleFrames = 1023;

struct KindInfo {
  SampleKind kind;
  std::string_view category;  // of the tracepoint
  std::string_view name;      // of the tracepoint, and of its BPF program
  bool feeds_task_table;      // attached in every session
  bool event;                 // can be asked for with -e
  bool older_kernels_only;    // its absence is nothing to tell
};

// Every kind that has a program of its own (all but kAny).
std::span<const KindInfo> kinds();
// Null for kAny and for a number that is no kind.
const KindInfo* find_kind(SampleKind kind);
// Null if no such tracepoint has a program of its own.
const KindInfo* find_kind(std::string_view category, std::string_view name);

}  // namespace stackmap
