// SPDX-License-Identifier: Apache-2.0
#include "store/trigger.h"

#include <algorithm>
#include <utility>

namespace stackmap {

namespace {

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

}  // namespace

Result<Trigger> Trigger::parse(const std::string& text, std::span<const EventType> types) {
  Trigger trigger;
  trigger.text_ = text;
  if (auto taken = trigger.take_words(words_of(text), types); !taken) {
    return std::move(taken).error().within("trigger '" + text + "'");
  }
  return trigger;
}

Result<void> Trigger::take_words(const std::vector<std::string>& words, std::span<const EventType> types) {
  if (words.empty()) {
    return make_error(ErrorKind::kUsage, "it is empty");
  }
  const std::string_view first = condition_name(words.front());
  if (first == "lost" || first == "exit") {
    on_ = first == "lost" ? On::kLost : On::kExit;
    if (words.size() != 1) {
      return make_error(ErrorKind::kUsage, "there is something behind the condition");
    }
    STACKMAP_TRY_VALUE(condition, EventCondition::on_number(words.front()));
    number_ = std::move(condition);
    return {};
  }
  const auto type = std::ranges::find(types, words.front(), &EventType::full_name);
  if (type == types.end()) {
    return make_error(ErrorKind::kUsage, words.front() + " is not recorded",
                      "name an event that is, 'lost>N', or 'exit!=0'");
  }
  events_.event_type = type->id;
  for (size_t i = 1; i < words.size(); ++i) {
    STACKMAP_TRY_VALUE(condition, EventCondition::on_field(words[i], *type));
    events_.conditions.push_back(std::move(condition));
  }
  return {};
}

bool Trigger::matches(uint64_t number) const {
  return number_ && number_->holds(number);
}

void Triggers::add(Trigger trigger) {
  if (trigger.on() == Trigger::On::kEvent) {
    with_pattern_.push_back(triggers_.size());
  }
  triggers_.push_back(std::move(trigger));
}

bool Triggers::watch_losses() const {
  return std::ranges::any_of(triggers_, [](const Trigger& t) { return t.on() == Trigger::On::kLost; });
}

std::vector<EventPattern> Triggers::patterns() const {
  std::vector<EventPattern> patterns;
  for (const size_t index : with_pattern_) {
    patterns.push_back(triggers_[index].events());
  }
  return patterns;
}

const std::string& Triggers::text_of_pattern(size_t index) const {
  return triggers_[with_pattern_[index]].text();
}

std::optional<std::string> Triggers::on_lost(uint64_t lost) {
  for (const Trigger& trigger : triggers_) {
    if (trigger.on() == Trigger::On::kLost && trigger.matches(lost - lost_seen_)) {
      lost_seen_ = lost;
      return trigger.text();
    }
  }
  return std::nullopt;
}

std::optional<std::string> Triggers::on_exit(int code) const {
  std::optional<std::string> why;
  for (const Trigger& trigger : triggers_) {
    if (trigger.on() == Trigger::On::kExit && trigger.matches(static_cast<uint64_t>(code))) {
      why = trigger.text() + " (it was " + std::to_string(code) + ")";
    }
  }
  return why;
}

}  // namespace stackmap
