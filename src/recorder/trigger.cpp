// SPDX-License-Identifier: Apache-2.0
#include "recorder/trigger.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace stackmap {

namespace {

Error usage(const std::string& trigger, const std::string& what, const std::string& remedy = {}) {
  return make_error(ErrorKind::kUsage, "trigger '" + trigger + "': " + what, remedy);
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == ',') {
      if (!word.empty()) {
        words.push_back(std::move(word));
        word.clear();
      }
    } else {
      word += c;
    }
  }
  if (!word.empty()) {
    words.push_back(std::move(word));
  }
  return words;
}

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

}  // namespace

bool Trigger::Condition::holds(uint64_t value) const {
  const auto compare = [&](auto a, auto b) {
    switch (op) {
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
  return format == FieldFormat::kSigned ? compare(static_cast<int64_t>(value), static_cast<int64_t>(number))
                                        : compare(value, number);
}

Result<void> Trigger::parse_condition(const std::string& word, const EventType* type) {
  static constexpr std::array<std::pair<std::string_view, Op>, 7> kOps = {{{"==", Op::kEqual},
                                                                           {"!=", Op::kNotEqual},
                                                                           {"<=", Op::kLessOrEqual},
                                                                           {">=", Op::kGreaterOrEqual},
                                                                           {"=", Op::kEqual},
                                                                           {"<", Op::kLess},
                                                                           {">", Op::kGreater}}};
  const size_t at = word.find_first_of("=!<>");
  const std::string_view rest = at == std::string::npos ? std::string_view() : std::string_view(word).substr(at);
  const auto* const op = std::ranges::find_if(kOps, [&](const auto& o) { return rest.starts_with(o.first); });
  if (at == 0 || op == kOps.end()) {
    return usage(text_, "'" + word + "' is no condition", "write FIELD, one of = != < <= > >=, and a value: order>=4");
  }
  const std::string name = word.substr(0, at);
  const std::string value(rest.substr(op->first.size()));
  Condition condition;
  condition.op = op->second;
  if (type != nullptr) {
    const auto field = type->field(name);
    if (!field) {
      std::string fields;
      for (const FieldType& known : type->fields) {
        fields += (fields.empty() ? "" : ", ") + known.name;
      }
      return usage(text_, type->full_name() + " has no field " + name,
                   fields.empty() ? "its fields are not recorded" : "it has " + fields);
    }
    condition.field = *field;
    condition.format = type->fields[*field].format;
  }
  if (condition.format == FieldFormat::kString) {
    if (condition.op != Op::kEqual && condition.op != Op::kNotEqual) {
      return usage(text_, name + " is text and can only be = or !=");
    }
    condition.text = value;
  } else {
    const auto number = number_of(value);
    if (!number) {
      return usage(text_, "'" + value + "' is not a number");
    }
    condition.number = *number;
  }
  conditions_.push_back(std::move(condition));
  return {};
}

Result<Trigger> Trigger::parse(const std::string& text, std::span<const EventType> types) {
  Trigger trigger;
  trigger.text_ = text;
  const std::vector<std::string> words = words_of(text);
  if (words.empty()) {
    return usage(text, "it is empty");
  }
  const std::string first = words.front().substr(0, words.front().find_first_of("=!<>"));
  if (first == "lost" || first == "exit") {
    trigger.on_ = first == "lost" ? On::kLost : On::kExit;
    if (words.size() != 1) {
      return usage(text, "there is something behind the condition");
    }
    STACKMAP_TRY(trigger.parse_condition(words.front(), nullptr));
    return trigger;
  }
  const auto type = std::ranges::find(types, words.front(), &EventType::full_name);
  if (type == types.end()) {
    return usage(text, words.front() + " is not recorded", "name an event that is, 'lost>N', or 'exit!=0'");
  }
  trigger.event_type_ = type->id;
  for (size_t i = 1; i < words.size(); ++i) {
    STACKMAP_TRY(trigger.parse_condition(words[i], &*type));
  }
  return trigger;
}

bool Trigger::matches(const Event& event, std::string_view string) const {
  if (on_ != On::kEvent || event.type != event_type_) {
    return false;
  }
  return std::ranges::all_of(conditions_, [&](const Condition& condition) {
    if (condition.format == FieldFormat::kString) {
      return (string == condition.text) == (condition.op == Op::kEqual);
    }
    return condition.field < event.fields.size() && condition.holds(event.fields[condition.field]);
  });
}

bool Trigger::matches(uint64_t number) const {
  return on_ != On::kEvent && conditions_.front().holds(number);
}

}  // namespace stackmap
