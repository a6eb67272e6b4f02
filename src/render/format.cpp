// SPDX-License-Identifier: Apache-2.0
// CMakeLists.txt lists the formats: STACKMAP_FORMATS is FORMAT(name) for each of them.
#include "render/format.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace stackmap {

#define FORMAT(name) extern const Format format_##name;
STACKMAP_FORMATS
#undef FORMAT

std::span<const Format* const> formats() {
#define FORMAT(name) &format_##name,
  static constexpr const Format* kFormats[] = {STACKMAP_FORMATS};
#undef FORMAT
  return kFormats;
}

const Format* find_format(std::string_view name) {
  const auto found = std::ranges::find(formats(), name, &Format::name);
  return found != formats().end() ? *found : nullptr;
}

void note_zero_stacks(std::vector<std::string>& notes, uint64_t stacks) {
  if (stacks != 0) {
    notes.push_back(fmt::format("stacks that weigh nothing, left out: {}", human_count(stacks)));
  }
}

void note_large_numbers(std::vector<std::string>& notes, uint64_t largest) {
  constexpr uint64_t kExactInDouble = uint64_t{1} << 53;
  if (largest > kExactInDouble) {
    notes.emplace_back("some readers keep sums in binary64 and will round these, which go above 2^53");
  }
}

}  // namespace stackmap
