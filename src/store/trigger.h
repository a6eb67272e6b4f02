// SPDX-License-Identifier: Apache-2.0
// What makes a flight recorder write out what it holds:
//
//   kmem:mm_page_alloc order>=4               an event, all of whose conditions hold
//   kmem:kmem_cache_alloc name=filp bytes_req>256
//   block:block_rq_issue                      any event of that name
//   lost>1000                                 so many events lost since the recording began, or since it last fired
//   exit!=0                                   the exit code of the command, when it ends
//
// Conditions (capture/event_condition.h) are separated by spaces or commas.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/event_condition.h"

namespace stackmap {

// Immutable: thread-safe.
class Trigger {
 public:
  enum class On : uint8_t { kEvent, kLost, kExit };

  // kUsage, with what is wrong, for text that is none of the above, for an unknown event, and for a field that it
  // lacks.
  static Result<Trigger> parse(const std::string& text, std::span<const EventType> types);

  On on() const { return on_; }
  const std::string& text() const { return text_; }
  const EventPattern& events() const { return events_; }  // kEvent
  bool matches(uint64_t number) const;                    // kLost and kExit

 private:
  Trigger() = default;
  Result<void> take_words(const std::vector<std::string>& words, std::span<const EventType> types);

  std::string text_;
  On on_ = On::kEvent;
  EventPattern events_;
  std::optional<EventCondition> number_;
};

// All triggers of a recording. Not thread-safe.
class Triggers {
 public:
  void add(Trigger trigger);
  bool empty() const { return triggers_.empty(); }
  bool watch_losses() const;

  // Of those on events, in order, for whoever sees the events.
  std::vector<EventPattern> patterns() const;
  // The text of the trigger with the pattern of this index.
  const std::string& text_of_pattern(size_t index) const;

  // Each tells what fired, as its text, if one does.
  // `lost` events so far: never fewer than at the last call.
  std::optional<std::string> on_lost(uint64_t lost);
  std::optional<std::string> on_exit(int code) const;

 private:
  std::vector<Trigger> triggers_;
  std::vector<size_t> with_pattern_;  // indices of those on events
  uint64_t lost_seen_ = 0;            // lost events when one last fired on them
};

}  // namespace stackmap
