// SPDX-License-Identifier: Apache-2.0
// One line of the text of tracefs' `trace`, as kernel/trace/trace_output.c prints it:
//
//             bash-1234    [001] d..2.   123.456789: sched_switch: prev_comm=bash ...
//             bash-1234    (   1200) [001] d..2.   123.456789: <stack_id 42 gen 1>
//             bash-1234    [001]   123.456789: <stack trace>
//  => schedule+0x48/0xc0
// CPU:1 [LOST 123 EVENTS]
//
// The columns of process and flags may be missing, as the kernel's options have it. A thread's name may hold spaces and
// '-'; spaces before it cannot be told from padding and are dropped. Times are seconds with one to nine digits behind
// the point; other clocks (counter, x86-tsc) and the latency format are not read.
//
// Pure functions: thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "stackmap/cookie.h"

namespace stackmap {

// A slot above this is none: a map of 4194304 stacks, the most that there can be, has twice as many slots.
inline constexpr uint32_t kMaxImportSlot = (uint32_t{1} << 23) - 1;

struct TraceLine {
  enum class Kind : uint8_t {
    kUnknown,      // not understood
    kComment,      // begins with '#', or is empty
    kOverwritten,  // a comment that says how many entries the ring overwrote: `count`
    kLost,         // the ring lost `count` events of `cpu`; 0: the trace does not say how many
    kEvent,        // `text` is all that stands behind the time
    kCookie,       // <stack_id N gen G>
    kStack,        // <stack trace>
    kUserStack,    // <user stack trace>
    kFrame,        // a frame of the stack above: `text`
  };
  Kind kind = Kind::kUnknown;
  std::string_view text;
  std::string_view comm;
  uint32_t tid = 0;
  uint32_t tgid = 0;  // 0: not known
  uint32_t cpu = 0;
  // What interrupted what on its CPU: 0 a thread, 1 a softirq, 2 a hardirq, 3 an NMI. 0 where there are no flags.
  uint8_t level = 0;
  uint64_t time_ns = 0;
  uint64_t count = 0;
  Cookie cookie;
};

// `line` has no line break. What it returns points into it.
TraceLine parse_trace_line(std::string_view line);

// "name" of "name: text" and its text, without the space between; an empty name if the text does not begin with one.
struct EventText {
  std::string_view name;
  std::string_view text;
};
EventText split_event_text(std::string_view text);

}  // namespace stackmap
