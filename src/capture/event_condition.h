// SPDX-License-Identifier: Apache-2.0
// Conditions on events, as text: FIELD OP VALUE, with = == != < <= > >=. A value is decimal, 0x hexadecimal, or, with =
// and != and a field that is a string, text. Signed fields are compared as signed numbers.
//
// Immutable: thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "capture/event.h"

namespace stackmap {

class EventCondition {
 public:
  // On a field of this type's events. kUsage, with what is wrong, for text that is no condition, and for a field that
  // the type lacks.
  static Result<EventCondition> on_field(const std::string& text, const EventType& type);
  // On a number, which is unsigned: NAME OP VALUE, whatever the name is.
  static Result<EventCondition> on_number(const std::string& text);

  // The event is of the type that the condition was made for. `string` is the text of its string field, if it has one.
  bool holds(const Event& event, std::string_view string) const;
  bool holds(uint64_t number) const;

 private:
  enum class Op : uint8_t { kEqual, kNotEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };
  struct Parts;
  static Result<Parts> split(const std::string& text);
  Result<void> take_value(const Parts& parts);

  size_t field_ = 0;
  FieldFormat format_ = FieldFormat::kUnsigned;
  Op op_ = Op::kEqual;
  uint64_t number_ = 0;
  std::string text_;  // of a string field
};

// The name in front of a condition's operator; all of `text` if it has none.
std::string_view condition_name(std::string_view text);

// Events of one type for which all conditions hold.
struct EventPattern {
  uint16_t event_type = 0;
  std::vector<EventCondition> conditions;

  bool matches(const Event& event, std::string_view string) const;
};

}  // namespace stackmap
