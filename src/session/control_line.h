// SPDX-License-Identifier: Apache-2.0
// What a client of the control socket sends: one line of at most kMaxControlLine bytes, which is one command. The bytes
// are not trusted: any input is a command, or is refused. Needs no socket.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stackmap {

inline constexpr size_t kMaxControlLine = 256;  // bytes, without the line break

// Collects the line, from pieces of any length.
class ControlLine {
 public:
  enum class State : uint8_t { kPartial, kWhole, kTooLong };
  // It never holds more than this, in bytes.
  static constexpr size_t kMemory = 2048;

  // What comes behind the line, or after too many bytes without its end, is dropped.
  State feed(std::string_view piece);
  // The line, without its end; kWhole only.
  std::string_view text() const { return text_; }

 private:
  std::string text_;
  State state_ = State::kPartial;
};

enum class ControlCommand : uint8_t { kReset, kOn, kOff, kStat, kMap, kFree, kSnapshot, kStop };

// Nothing if it is none: a command is its word alone.
std::optional<ControlCommand> parse_control_command(std::string_view line);

}  // namespace stackmap
