// SPDX-License-Identifier: Apache-2.0
#include "render/clean_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/text.h"

namespace stackmap {

namespace {

struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 1;
};

// The first code point of well-formed UTF-8. Never reads or steps past the end of any text.
CodePoint first_code_point(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const size_t bytes = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (bytes == 1 || text.size() < bytes) {
    return {lead, 1};
  }
  uint32_t value = lead & (0x7fU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    value = value << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  return {value, bytes};
}

struct Range {
  uint32_t first;
  uint32_t last;
};

template <size_t N>
bool in_ranges(const Range (&ranges)[N], uint32_t value) {
  return std::ranges::any_of(ranges, [&](const Range& r) { return value >= r.first && value <= r.last; });
}

bool is_unsafe(uint32_t c) {
  static constexpr Range kUnsafe[] = {
      {0x80, 0x9f},      // C1 controls
      {0x200e, 0x200f},  // direction marks
      {0x2028, 0x202e},  // line and paragraph separators, direction overrides
      {0x2066, 0x2069},  // direction isolates
      {0xfdd0, 0xfdef},  // no characters
  };
  return (c & 0xfffe) == 0xfffe || in_ranges(kUnsafe, c);
}

// Approximations of Unicode's East Asian Width (W, F) and general category (Mn, Me, Cf): enough to align a table.
size_t columns_of(uint32_t c) {
  static constexpr Range kZero[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},    {0x1ab0, 0x1aff},
                                    {0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x20d0, 0x20ff},  {0xfe00, 0xfe0f},
                                    {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef}};
  static constexpr Range kWide[] = {{0x1100, 0x115f}, {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97f},
                                    {0xac00, 0xd7a3}, {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                                    {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
  if (c < 0x300) {
    return 1;
  }
  return in_ranges(kZero, c) ? 0 : in_ranges(kWide, c) ? 2 : 1;
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string safe = printable(text);
  if (std::ranges::all_of(safe, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {
    return safe;
  }
  std::string out;
  for (std::string_view rest = safe; !rest.empty();) {
    const CodePoint c = first_code_point(rest);
    if (is_unsafe(c.value)) {
      for (const char byte : rest.substr(0, c.bytes)) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(byte));
      }
    } else {
      out.append(rest.substr(0, c.bytes));
    }
    rest.remove_prefix(c.bytes);
  }
  return out;
}

std::string display_name(std::string_view name) {
  return name.empty() ? "[empty]" : clean_text(name);
}

size_t text_columns(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    columns += columns_of(c.value);
    text.remove_prefix(c.bytes);
  }
  return columns;
}

std::string cut_to_columns(std::string_view text, size_t columns) {
  if (text.size() <= columns || text_columns(text) <= columns) {
    return std::string(text);
  }
  if (columns == 0) {
    return {};
  }
  size_t used = 0;
  size_t end = 0;
  while (end < text.size()) {
    const CodePoint c = first_code_point(text.substr(end));
    if (used + columns_of(c.value) > columns - 1) {
      break;
    }
    used += columns_of(c.value);
    end += c.bytes;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::vector<std::string> wrap_text(std::string_view text, size_t columns) {
  std::vector<std::string> lines;
  for (const std::string_view word : split(text, ' ')) {
    if (lines.empty() || text_columns(lines.back()) + 1 + text_columns(word) > columns) {
      lines.push_back(cut_to_columns(word, columns));
    } else {
      lines.back() += ' ';
      lines.back() += word;
    }
  }
  return lines;
}

}  // namespace stackmap
