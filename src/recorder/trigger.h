// SPDX-License-Identifier: Apache-2.0
// What makes a flight recorder write out what it holds:
//
//   kmem:mm_page_alloc order>=4          an event, all of whose conditions hold
//   kmem:kmem_cache_alloc name=filp bytes_requested>256
//   block:block_rq_issue                 any event of that name
//   lost>1000                            so many events lost since the recording began, or since it last fired
//   exit!=0                              the exit code of the command, when it ends
//
// Conditions, separated by spaces or commas, are FIELD OP VALUE, with = == != < <= > >=; values are decimal, 0x
// hexadecimal, or, with = and != and a field that is a string, text. Signed fields are compared as signed numbers.
// Immutable: thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "capture/event.h"

namespace stackmap {

class Trigger {
 public:
  enum class On : uint8_t { kEvent, kLost, kExit };

  // kUsage, with what is wrong, for text that is none of the above, for an unknown event, and for a field that it
  // lacks.
  static Result<Trigger> parse(const std::string& text, std::span<const EventType> types);

  On on() const { return on_; }
  const std::string& text() const { return text_; }
  uint16_t event_type() const { return event_type_; }  // kEvent

  // kEvent. `string` is the text of the event's string field, if it has one.
  bool matches(const Event& event, std::string_view string) const;
  // kLost and kExit.
  bool matches(uint64_t number) const;

 private:
  enum class Op : uint8_t { kEqual, kNotEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };
  struct Condition {
    size_t field = 0;
    FieldFormat format = FieldFormat::kUnsigned;
    Op op = Op::kEqual;
    uint64_t number = 0;
    std::string text;  // of a string field

    bool holds(uint64_t value) const;
  };
  Result<void> parse_condition(const std::string& word, const EventType* type);

  std::string text_;
  On on_ = On::kEvent;
  uint16_t event_type_ = 0;
  std::vector<Condition> conditions_;
};

}  // namespace stackmap
