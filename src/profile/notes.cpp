// SPDX-License-Identifier: Apache-2.0
#include "profile/notes.h"

#include <fmt/format.h>

#include "base/text.h"

namespace stackmap {

void add_note(std::vector<std::string>& notes, uint64_t n, std::string_view noun, std::string_view one,
              std::string_view many) {
  if (n != 0) {
    notes.push_back(fmt::format("{} {}{} {}", human_count(n), noun, n == 1 ? "" : "s", n == 1 ? one : many));
  }
}

}  // namespace stackmap
