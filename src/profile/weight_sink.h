// SPDX-License-Identifier: Apache-2.0
// Where a weight puts its values: under the stack of an event and its task. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/event.h"
#include "profile/sequence_table.h"
#include "profile/stack_counts.h"

namespace stackmap {

class WeightSink {
 public:
  // The stack and the task of the event at hand, which may be kept and used after it. Of one that the filter accepts.
  StackKey key(const Event& event) {
    const StackRef& stack = event.stack;
    switch (stack.state) {
      case StackRef::State::kCookie:
        return {stack.cookie.value(), task_, StackKey::Kind::kCookie};
      case StackRef::State::kFallback:
        return {fallbacks_.intern(stack.frames), task_, StackKey::Kind::kFallback};
      case StackRef::State::kError:
        return {static_cast<uint64_t>(stack.errnum), task_, StackKey::Kind::kError};
      case StackRef::State::kNone:
        break;
    }
    return {0, task_, StackKey::Kind::kNone};
  }
  void add(const StackKey& key, uint64_t value) { counts_.add(key, value); }

  // For the one that shows the events: the task of the next one, and what was added up.
  void set_task(uint32_t task) { task_ = task; }
  std::vector<StackCounts::Entry> entries() { return counts_.entries(); }
  const SequenceTable<uint64_t>& fallbacks() const { return fallbacks_; }

 private:
  StackCounts counts_;
  SequenceTable<uint64_t> fallbacks_;  // by frames; StackKey::stack is the number
  uint32_t task_ = 0;
};

}  // namespace stackmap
