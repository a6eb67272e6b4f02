// SPDX-License-Identifier: Apache-2.0
// One event as the BPF program sent it, decoded.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "record/kinds.h"

namespace stackmap {

struct RawStack {
  std::span<const uint64_t> frames;  // innermost first
  int errnum = 0;                    // positive: the kernel could not walk the stack, and why
};

// What a task record says of its task.
struct SampleTask {
  uint32_t tid = 0;
  uint32_t tgid = 0;
  uint32_t old_tid = 0;   // exec: the thread that called it. fork: the parent's process.
  std::string_view comm;  // at most 15 bytes
};

struct Sample {
  static constexpr size_t kMaxFields = RecordLayout::kMaxFields;

  KnownEvent kind = kAnyEvent;
  bool task_only = false;  // for the task table, not an event that was asked for
  uint32_t cpu = 0;
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  uint32_t tid = 0;      // the thread that was running
  uint32_t tgid = 0;
  uint32_t subject_tid = 0;  // sched_switch: who runs next; wake-ups: who is woken; else 0
  uint32_t any_event = 0;    // which, from kFirstAnyEvent, of the tracepoints without a program of their own; else 0
  RawStack kernel_stack;
  RawStack user_stack;  // no program sends one yet; the record has its place, so that one can

  // As many as the event's type has, in its order (capture/event.h). Signed ones are sign-extended. The place of one
  // that is a string holds 0: it is `string`.
  std::array<uint64_t, kMaxFields> fields{};
  uint8_t field_count = 0;
  int string_field = -1;    // which of them is the string; -1: none
  std::string_view string;  // empty if the kernel does not give it

  SampleTask task;  // sched_process_* and task_rename only
};

}  // namespace stackmap
