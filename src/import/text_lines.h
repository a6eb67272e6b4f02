// SPDX-License-Identifier: Apache-2.0
// The lines of a text that is imported, and the account of those that were not understood. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stackmap {

struct TextLine {
  uint64_t number = 0;  // from 1
  std::string_view text;
  bool ended = false;  // by a line break; a last line without one may have lost more than that
};

class LineReader {
 public:
  // `text` must outlive what next() returns.
  explicit LineReader(std::string_view text) : rest_(text) {}
  std::optional<TextLine> next();

 private:
  std::string_view rest_;
  uint64_t number_ = 0;
};

class SkippedLines {
 public:
  // `name` is the file's, `why` may be empty.
  void add(const std::string& name, const TextLine& line, std::string_view why = {});
  uint64_t count() const { return count_; }
  // "NAME:LINE: 'TEXT'" or "NAME:LINE: 'TEXT': WHY" of the first one, cut and made printable; empty if there is none.
  const std::string& first() const { return first_; }
  // A sentence for the user, where there are any.
  std::string warning() const;

 private:
  uint64_t count_ = 0;
  std::string first_;
};

}  // namespace stackmap
