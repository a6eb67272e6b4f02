// SPDX-License-Identifier: Apache-2.0
#include "capture/segment_names.h"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"

namespace stackmap {

namespace {

constexpr std::string_view kEnding = ".smc";
constexpr size_t kDigits = 6;  // at least

}  // namespace

std::string segment_path(const std::string& base, uint64_t number) {
  return fmt::format("{}-{:06}{}", base, number, kEnding);
}

std::optional<SegmentName> parse_segment_path(std::string_view path) {
  if (!path.ends_with(kEnding)) {
    return std::nullopt;
  }
  path.remove_suffix(kEnding.size());
  const size_t dash = path.rfind('-');
  if (dash == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view digits = path.substr(dash + 1);
  const auto number = parse_uint(digits);
  const bool padded = digits.size() == kDigits || (digits.size() > kDigits && digits.front() != '0');
  if (!number || *number == 0 || !padded) {
    return std::nullopt;
  }
  return SegmentName{path.substr(0, dash), *number};
}

std::vector<uint64_t> find_segments(const std::string& base) {
  std::vector<uint64_t> numbers;
  DIR* directory = ::opendir(directory_of(base).c_str());
  if (directory == nullptr) {
    return numbers;
  }
  const std::string name = base.substr(base.rfind('/') + 1);
  while (const dirent* entry = ::readdir(directory)) {
    if (const auto segment = parse_segment_path(entry->d_name); segment && segment->base == name) {
      numbers.push_back(segment->number);
    }
  }
  (void)::closedir(directory);
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace stackmap
