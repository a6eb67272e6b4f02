// SPDX-License-Identifier: Apache-2.0
#include "import/ftrace_line.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "capture/event_block.h"

namespace stackmap {

namespace {

constexpr size_t kMaxFlags = 8;
constexpr uint64_t kMaxSeconds = 9'000'000'000;  // fits 64 bits of nanoseconds
constexpr size_t kMaxName = 64;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) {
    return false;
  }
  text.remove_prefix(word.size());
  return true;
}

template <typename T>
bool take_number(std::string_view& text, T& value) {
  if (text.empty() || !is_digit(text.front())) {
    return false;
  }
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc()) {
    return false;
  }
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

template <typename T>
bool whole_number(std::string_view text, T& value) {
  return take_number(text, value) && text.empty();
}

void skip_spaces(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
}

void trim_end(std::string_view& text) {
  const size_t last = text.find_last_not_of(' ');
  text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// The next word up to a space.
std::string_view take_token(std::string_view& text) {
  skip_spaces(text);
  const std::string_view token = text.substr(0, text.find(' '));
  text.remove_prefix(token.size());
  return token;
}

// "123.456789:"
bool parse_time(std::string_view token, uint64_t& time_ns) {
  uint64_t seconds = 0;
  if (!token.ends_with(':') || !take_number(token, seconds) || seconds > kMaxSeconds || !take_word(token, ".")) {
    return false;
  }
  token.remove_suffix(1);
  uint64_t fraction = 0;
  if (token.size() > 9 || !whole_number(token, fraction)) {
    return false;
  }
  for (size_t digits = token.size(); digits < 9; ++digits) {
    fraction *= 10;
  }
  time_ns = seconds * 1'000'000'000 + fraction;
  return true;
}

// The third flag is the context (trace_print_lat_fmt() of the kernel).
uint8_t level_of(std::string_view flags) {
  switch (flags.size() > 2 ? flags[2] : '.') {
    case 's':
      return 1;
    case 'h':
    case 'H':
      return 2;
    case 'z':
    case 'Z':
      return 3;
    default:
      return 0;
  }
}

// "    comm-pid   " or "    comm-pid   (tgid) ", all that stands before the CPU.
bool parse_task(std::string_view text, TraceLine& line) {
  trim_end(text);
  line.tgid = 0;
  if (text.ends_with(')')) {
    const size_t open = text.rfind('(');
    if (open == std::string_view::npos) {
      return false;
    }
    std::string_view inside = text.substr(open + 1, text.size() - open - 2);
    skip_spaces(inside);
    if (inside.find_first_not_of('-') != std::string_view::npos && !whole_number(inside, line.tgid)) {
      return false;
    }
    text = text.substr(0, open);
    trim_end(text);
  }
  const size_t dash = text.rfind('-');
  if (dash == std::string_view::npos || !whole_number(text.substr(dash + 1), line.tid)) {
    return false;
  }
  line.comm = text.substr(0, dash);
  skip_spaces(line.comm);
  return line.tid <= INT32_MAX && line.tgid <= INT32_MAX;
}

// "001] d..2.   123.456789: text", all that stands behind the bracket of the CPU.
bool parse_rest(std::string_view text, TraceLine& line) {
  if (!take_number(text, line.cpu) || line.cpu > kMaxBlockCpu || !take_word(text, "] ")) {
    return false;
  }
  std::string_view token = take_token(text);
  line.level = 0;
  if (!parse_time(token, line.time_ns)) {
    if (token.size() > kMaxFlags) {
      return false;
    }
    line.level = level_of(token);
    if (!parse_time(take_token(text), line.time_ns)) {
      return false;
    }
  }
  take_word(text, " ");
  line.text = text;
  return true;
}

bool parse_cookie(std::string_view text, Cookie& cookie) {
  uint32_t slot = 0;
  uint32_t generation = 0;
  if (!take_word(text, "<stack_id ") || !take_number(text, slot) || !take_word(text, " gen ") ||
      !take_number(text, generation) || text != ">" || generation == 0 || slot > kMaxImportSlot) {
    return false;
  }
  cookie = Cookie(generation, slot);
  return true;
}

TraceLine::Kind kind_of(TraceLine& line) {
  if (line.text == "<stack trace>") {
    return TraceLine::Kind::kStack;
  }
  if (line.text == "<user stack trace>") {
    return TraceLine::Kind::kUserStack;
  }
  if (parse_cookie(line.text, line.cookie)) {
    return TraceLine::Kind::kCookie;
  }
  // Stacks that are cut or of a later form are no events.
  const bool other_stack = line.text.starts_with("<stack") || line.text.starts_with("<user stack");
  return line.text.empty() || other_stack ? TraceLine::Kind::kUnknown : TraceLine::Kind::kEvent;
}

// "CPU:1 [LOST 123 EVENTS]", "CPU:1 [LOST EVENTS]"
bool parse_lost(std::string_view text, TraceLine& line) {
  if (!take_word(text, "CPU:") || !take_number(text, line.cpu) || !take_word(text, " [LOST ")) {
    return false;
  }
  line.count = 0;
  if (text == "EVENTS]") {
    return true;
  }
  return take_number(text, line.count) && text == " EVENTS]";
}

// "# entries-in-buffer/entries-written: 205/1205   #P:4"
TraceLine::Kind parse_comment(std::string_view text, TraceLine& line) {
  uint64_t held = 0;
  uint64_t written = 0;
  if (take_word(text, "# entries-in-buffer/entries-written: ") && take_number(text, held) && take_word(text, "/") &&
      take_number(text, written) && written > held) {
    line.count = written - held;
    return TraceLine::Kind::kOverwritten;
  }
  return TraceLine::Kind::kComment;
}

// With the option sym-addr the kernel puts the address behind the name: " <ffffffff81234567>".
std::string_view without_address(std::string_view frame) {
  const size_t open = frame.rfind(" <");
  if (open == std::string_view::npos || open == 0 || !frame.ends_with('>')) {
    return frame;
  }
  const std::string_view digits = frame.substr(open + 2, frame.size() - open - 3);
  const bool hex = digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return hex && (digits.size() == 16 || digits.size() == 8) ? frame.substr(0, open) : frame;
}

}  // namespace

TraceLine parse_trace_line(std::string_view text) {
  TraceLine line;
  if (text.empty() || text.front() == '#') {
    line.kind = parse_comment(text, line);
    return line;
  }
  if (text.starts_with(" => ")) {
    line.text = without_address(text.substr(4));
    line.kind = line.text.empty() ? TraceLine::Kind::kUnknown : TraceLine::Kind::kFrame;
    return line;
  }
  if (parse_lost(text, line)) {
    line.kind = TraceLine::Kind::kLost;
    return line;
  }
  // A thread's name can hold " [1] ": what counts is the first one that has all the rest around it.
  for (size_t at = text.find(" ["); at != std::string_view::npos; at = text.find(" [", at + 1)) {
    if (parse_rest(text.substr(at + 2), line) && parse_task(text.substr(0, at), line)) {
      line.kind = kind_of(line);
      return line;
    }
  }
  return {};
}

EventText split_event_text(std::string_view text) {
  const auto of_a_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.';
  };
  const auto colon = static_cast<size_t>(std::ranges::find_if_not(text, of_a_name) - text.begin());
  const std::string_view rest = text.substr(colon);
  if (colon == 0 || colon > kMaxName || !(rest == ":" || rest.starts_with(": "))) {
    return {{}, text};
  }
  return {text.substr(0, colon), rest.substr(std::min<size_t>(rest.size(), 2))};
}

}  // namespace stackmap
