// SPDX-License-Identifier: Apache-2.0
// Builds a Kallsyms from the bytes of a kallsyms file, in pieces of any length. For kallsyms.cpp only.
//
// Lines that are no symbol are skipped; nothing in the input is trusted. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "symbolize/kallsyms.h"

namespace stackmap {

class KallsymsParser {
 public:
  explicit KallsymsParser(std::string name);
  // The next piece of the file. kFailed once there is more than Kallsyms::kMaxBytes.
  Result<void> feed(std::string_view piece);
  // After the last piece; errors as Kallsyms::load(). The parser is used up.
  Result<Kallsyms> finish();

 private:
  // The symbols that bound what the kernel names.
  enum Bound : uint8_t { kText, kTextEnd, kInitText, kInitTextEnd, kEnd, kInit, kInitEnd, kBounds };

  void add_line(std::string_view line);
  void note_bound(std::string_view symbol, uint64_t address);
  std::optional<uint16_t> owner_index(std::string_view module);
  Result<void> set_ranges();
  void order(std::vector<Kallsyms::Symbol>& symbols);

  Kallsyms out_;
  std::string partial_;    // the beginning of a line whose end has not come
  bool overlong_ = false;  // the rest of the line is to be skipped
  uint64_t bytes_ = 0;
  uint64_t highest_ = 0;  // address
  std::array<std::optional<uint64_t>, kBounds> bounds_;
  std::unordered_map<std::string, uint16_t> owner_of_;
};

}  // namespace stackmap
