// SPDX-License-Identifier: Apache-2.0
#include "session/control_line.h"

#include <algorithm>
#include <array>

namespace stackmap {

namespace {

// In the order of ControlCommand.
constexpr std::array<std::string_view, 8> kNames = {"reset", "on", "off", "stat", "map", "free", "snapshot", "stop"};

}  // namespace

ControlLine::State ControlLine::feed(std::string_view piece) {
  if (state_ != State::kPartial) {
    return state_;
  }
  const size_t end = piece.find('\n');
  const std::string_view part = piece.substr(0, end);
  if (part.size() > kMaxControlLine - text_.size()) {
    state_ = State::kTooLong;
    return state_;
  }
  text_.append(part);
  if (end != std::string_view::npos) {
    state_ = State::kWhole;
  }
  return state_;
}

std::optional<ControlCommand> parse_control_command(std::string_view line) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), line);
  return found == kNames.end() ? std::nullopt : std::optional(static_cast<ControlCommand>(found - kNames.begin()));
}

}  // namespace stackmap
