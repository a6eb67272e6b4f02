// SPDX-License-Identifier: Apache-2.0
// What the files of a recording in segments are called: BASE-000001.smc, BASE-000002.smc and so on. A number has at
// least six digits, and no nought before it beyond these; 0 is none. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stackmap {

// BASE-000042.smc
std::string segment_path(const std::string& base, uint64_t number);

struct SegmentName {
  std::string_view base;  // of the path that was given, its folders included
  uint64_t number = 0;
};
// The inverse of segment_path(); nothing if the path is not called so.
std::optional<SegmentName> parse_segment_path(std::string_view path);

// The numbers of the segments of BASE that are there, in order. Empty if the directory cannot be read.
std::vector<uint64_t> find_segments(const std::string& base);

}  // namespace stackmap
