// SPDX-License-Identifier: Apache-2.0
#include "profile/profile.h"

#include <fmt/format.h>

#include <limits>

#include "base/text.h"

namespace stackmap {

std::string_view unit_name(Unit unit) {
  return unit == Unit::kBytes ? "bytes" : "events";
}

FrameId Profile::frame(std::string_view name, FrameKind kind) {
  const auto found = ids_.find({name, kind});
  if (found != ids_.end()) {
    return found->second;
  }
  const auto id = static_cast<FrameId>(frames_.size());
  frames_.push_back({std::string(name), kind});
  ids_.emplace(std::pair<std::string_view, FrameKind>(frames_.back().name, kind), id);
  return id;
}

void Profile::add(std::span<const FrameId> frames, std::span<const uint64_t> values) {
  const size_t first = size_t{stacks_.intern(frames)} * columns_.size();
  values_.resize(stacks_.size() * columns_.size());
  for (size_t column = 0; column < columns_.size(); ++column) {
    accumulate(values_[first + column], values[column]);
    accumulate(totals_[column], values[column]);
  }
}

Profile::Sample Profile::sample(size_t index) const {
  return {stacks_.at(index), std::span(values_).subspan(index * columns_.size(), columns_.size())};
}

void Profile::accumulate(uint64_t& sum, uint64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) {
    sum = std::numeric_limits<uint64_t>::max();
    saturated_ = true;
  }
}

std::string value_text(Unit unit, uint64_t value) {
  return unit == Unit::kBytes ? human_size(value) : human_count(value);
}

std::string value_text_with_unit(Unit unit, uint64_t value) {
  const std::string exact =
      fmt::format("{} {}", human_count(value),
                  value == 1 ? unit_name(unit).substr(0, unit_name(unit).size() - 1) : unit_name(unit));
  return unit == Unit::kBytes && value >= 1024 ? fmt::format("{} ({})", human_size(value), exact) : exact;
}

std::string total_text(const Profile& profile) {
  std::string text = value_text_with_unit(profile.unit(), profile.total());
  for (size_t column = 1; column < profile.columns().size(); ++column) {
    text += " in " + value_text_with_unit(profile.columns()[column].unit, profile.totals()[column]);
  }
  return text;
}

std::string percent_text(uint64_t part, uint64_t whole) {
  if (part == 0 || whole == 0) {
    return "0.0%";
  }
  const double percent = 100.0 * (static_cast<double>(part) / static_cast<double>(whole));
  return percent < 0.05 ? "<0.1%" : fmt::format("{:.1f}%", percent);
}

}  // namespace stackmap
