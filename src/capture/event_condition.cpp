// SPDX-License-Identifier: Apache-2.0
#include "capture/event_condition.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace stackmap {

namespace {

constexpr std::string_view kOperatorBytes = "=!<>";

std::optional<uint64_t> number_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) {
    text.remove_prefix(1);
  }
  const bool hex = text.starts_with("0x");
  if (hex) {
    text.remove_prefix(2);
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size() || (negative && value > uint64_t{1} << 63)) {
    return std::nullopt;
  }
  return negative ? ~value + 1 : value;
}

Error no_field(const EventType& type, const std::string& name) {
  std::string fields;
  for (const FieldType& known : type.fields) {
    fields += (fields.empty() ? "" : ", ") + known.name;
  }
  return make_error(ErrorKind::kUsage, type.full_name() + " has no field " + name,
                    fields.empty() ? "its fields are not recorded" : "it has " + fields);
}

}  // namespace

struct EventCondition::Parts {
  std::string name;
  Op op = Op::kEqual;
  std::string value;
};

std::string_view condition_name(std::string_view text) {
  return text.substr(0, text.find_first_of(kOperatorBytes));
}

Result<EventCondition::Parts> EventCondition::split(const std::string& text) {
  static constexpr std::array<std::pair<std::string_view, Op>, 7> kOps = {{{"==", Op::kEqual},
                                                                           {"!=", Op::kNotEqual},
                                                                           {"<=", Op::kLessOrEqual},
                                                                           {">=", Op::kGreaterOrEqual},
                                                                           {"=", Op::kEqual},
                                                                           {"<", Op::kLess},
                                                                           {">", Op::kGreater}}};
  const std::string_view name = condition_name(text);
  const std::string_view rest = std::string_view(text).substr(name.size());
  const auto* const op = std::ranges::find_if(kOps, [&](const auto& o) { return rest.starts_with(o.first); });
  if (name.empty() || op == kOps.end()) {
    return make_error(ErrorKind::kUsage, "'" + text + "' is no condition",
                      "write FIELD, one of = != < <= > >=, and a value: order>=4");
  }
  return Parts{std::string(name), op->second, std::string(rest.substr(op->first.size()))};
}

Result<void> EventCondition::take_value(const Parts& parts) {
  op_ = parts.op;
  if (format_ == FieldFormat::kString) {
    if (op_ != Op::kEqual && op_ != Op::kNotEqual) {
      return make_error(ErrorKind::kUsage, parts.name + " is text and can only be = or !=");
    }
    text_ = parts.value;
    return {};
  }
  const auto number = number_of(parts.value);
  if (!number) {
    return make_error(ErrorKind::kUsage, "'" + parts.value + "' is not a number");
  }
  number_ = *number;
  return {};
}

Result<EventCondition> EventCondition::on_field(const std::string& text, const EventType& type) {
  STACKMAP_TRY_VALUE(parts, split(text));
  const auto field = type.field(parts.name);
  if (!field) {
    return no_field(type, parts.name);
  }
  EventCondition condition;
  condition.field_ = *field;
  condition.format_ = type.fields[*field].format;
  STACKMAP_TRY(condition.take_value(parts));
  return condition;
}

Result<EventCondition> EventCondition::on_number(const std::string& text) {
  STACKMAP_TRY_VALUE(parts, split(text));
  EventCondition condition;
  STACKMAP_TRY(condition.take_value(parts));
  return condition;
}

bool EventCondition::holds(uint64_t number) const {
  const auto compare = [&](auto a, auto b) {
    switch (op_) {
      case Op::kEqual:
        return a == b;
      case Op::kNotEqual:
        return a != b;
      case Op::kLess:
        return a < b;
      case Op::kLessOrEqual:
        return a <= b;
      case Op::kGreater:
        return a > b;
      case Op::kGreaterOrEqual:
        return a >= b;
    }
    return false;
  };
  return format_ == FieldFormat::kSigned ? compare(static_cast<int64_t>(number), static_cast<int64_t>(number_))
                                         : compare(number, number_);
}

bool EventCondition::holds(const Event& event, std::string_view string) const {
  if (format_ == FieldFormat::kString) {
    return (string == text_) == (op_ == Op::kEqual);
  }
  return field_ < event.fields.size() && holds(event.fields[field_]);
}

bool EventPattern::matches(const Event& event, std::string_view string) const {
  return event.type == event_type &&
         std::ranges::all_of(conditions, [&](const EventCondition& c) { return c.holds(event, string); });
}

}  // namespace stackmap
