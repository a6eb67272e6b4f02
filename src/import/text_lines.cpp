// SPDX-License-Identifier: Apache-2.0
#include "import/text_lines.h"

#include <fmt/format.h>

#include "base/text.h"

namespace stackmap {

namespace {

constexpr size_t kShownBytes = 80;  // of a line in a message

}  // namespace

std::optional<TextLine> LineReader::next() {
  if (rest_.empty()) {
    return std::nullopt;
  }
  const size_t end = rest_.find('\n');
  const TextLine line{++number_, rest_.substr(0, end), end != std::string_view::npos};
  rest_.remove_prefix(line.ended ? end + 1 : rest_.size());
  return line;
}

void SkippedLines::add(const std::string& name, const TextLine& line, std::string_view why) {
  if (count_++ == 0) {
    first_ = fmt::format("{}:{}: '{}'{}{}", name, line.number, printable(line.text.substr(0, kShownBytes)),
                         why.empty() ? "" : ": ", why);
  }
}

std::string SkippedLines::warning() const {
  return fmt::format("lines that were not understood and are left out: {}; the first: {}", human_count(count_), first_);
}

}  // namespace stackmap
