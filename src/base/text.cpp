// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace stackmap {

Result<uint64_t> parse_uint(std::string_view text) {
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || text.empty()) {
    return make_error(ErrorKind::kUsage, fmt::format("'{}' is not a whole number", text));
  }
  return value;
}

Result<std::vector<uint32_t>> parse_number_list(std::string_view text) {
  constexpr uint64_t kMost = 65536;
  const auto bad = [text] {
    return make_error(ErrorKind::kFailed, fmt::format("'{}' is no list of numbers such as 0-3,8", text));
  };
  std::string_view rest = text.substr(0, text.find_last_not_of(" \t\n") + 1);
  std::vector<uint32_t> numbers;
  while (!rest.empty()) {
    const std::string_view range = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), range.size() + 1));
    const size_t dash = range.find('-');
    const auto first = parse_uint(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_uint(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last > UINT32_MAX || *last - *first >= kMost - numbers.size()) {
      return bad();
    }
    for (uint64_t number = *first; number <= *last; ++number) {
      numbers.push_back(static_cast<uint32_t>(number));
    }
  }
  return numbers;
}

Result<uint64_t> parse_size(std::string_view text) {
  const auto bad = [&] {
    return make_error(ErrorKind::kUsage, fmt::format("'{}' is not a size", text), "write it as 4096, 512K, 64M or 2G");
  };
  std::string_view unit = text;
  while (!unit.empty() && unit.front() >= '0' && unit.front() <= '9') {
    unit.remove_prefix(1);
  }
  const auto number = parse_uint(text.substr(0, text.size() - unit.size()));
  if (!number) {
    return bad();
  }
  unsigned shift = 0;
  if (!unit.empty()) {
    switch (unit.front()) {
      case 'k':
      case 'K':
        shift = 10;
        break;
      case 'm':
      case 'M':
        shift = 20;
        break;
      case 'g':
      case 'G':
        shift = 30;
        break;
      case 'B':
        break;
      default:
        return bad();
    }
    const std::string_view rest = unit.substr(1);
    const bool valid = shift == 0 ? rest.empty() : rest.empty() || rest == "B" || rest == "iB";
    if (!valid) {
      return bad();
    }
  }
  if (*number > (~uint64_t{0} >> shift)) {
    return bad();
  }
  return *number << shift;
}

Result<uint64_t> parse_duration(std::string_view text) {
  const auto bad = [&] {
    return make_error(ErrorKind::kUsage, fmt::format("'{}' is not a duration", text),
                      "write it as 10, 1.5s, 250ms, 5m or 2h");
  };
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  double scale = 0;
  if (unit.empty() || unit == "s") {
    scale = 1e9;
  } else if (unit == "ms") {
    scale = 1e6;
  } else if (unit == "m") {
    scale = 60e9;
  } else if (unit == "h") {
    scale = 3600e9;
  }
  if (code != std::errc() || scale == 0 || !(number >= 0) || number * scale > 9e18) {
    return bad();
  }
  return static_cast<uint64_t>(std::llround(number * scale));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

std::string human_size(uint64_t bytes) {
  if (bytes < 1024) {
    return fmt::format("{} B", bytes);
  }
  double value = static_cast<double>(bytes);
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  value /= 1024;
  while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string human_count(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

namespace {

// Length of the well-formed UTF-8 sequence that `text` begins with; 0 if there is none.
size_t utf8_length(std::string_view text) {
  const auto at = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto tail = [&](size_t i) { return (at(i) & 0xc0U) == 0x80U; };
  const unsigned c = at(0);
  if (c < 0x80) {
    return 1;
  }
  if (c >= 0xc2 && c <= 0xdf) {
    return tail(1) ? 2 : 0;
  }
  if (c >= 0xe0 && c <= 0xef) {
    const bool fits = (c != 0xe0 || at(1) >= 0xa0) && (c != 0xed || at(1) <= 0x9f);
    return fits && tail(1) && tail(2) ? 3 : 0;
  }
  if (c >= 0xf0 && c <= 0xf4) {
    const bool fits = (c != 0xf0 || at(1) >= 0x90) && (c != 0xf4 || at(1) <= 0x8f);
    return fits && tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t n = utf8_length(text);
    if (n == 0) {
      return false;
    }
    text.remove_prefix(n);
  }
  return true;
}

std::string errno_name(int errnum) {
  const char* name = ::strerrorname_np(errnum);
  return name != nullptr ? std::string(name) : std::to_string(errnum);
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t n = utf8_length(text);
    const auto c = static_cast<unsigned char>(text.front());
    if (n == 0 || c < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", c);
      text.remove_prefix(1);
    } else if (text.starts_with("\\x")) {
      out += "\\\\x";
      text.remove_prefix(2);
    } else {
      out.append(text.substr(0, n));
      text.remove_prefix(n);
    }
  }
  return out;
}

}  // namespace stackmap
