// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace stackmap {

namespace {

// Length of the well-formed character that `text` begins with; 0 if there is none.
size_t character_length(std::string_view text) {
  for (size_t n = 1; n <= std::min<size_t>(text.size(), 4); ++n) {
    if (is_utf8(text.substr(0, n))) {
      return n;
    }
  }
  return 0;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t n = character_length(text);
    const auto c = static_cast<unsigned char>(text.front());
    if (n == 0) {
      out += "\\ufffd";
    } else if (c < 0x20 || c == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += text.front();
    } else {
      out.append(text.substr(0, n));
    }
    text.remove_prefix(std::max<size_t>(n, 1));
  }
  return out + '"';
}

}  // namespace stackmap
