// SPDX-License-Identifier: Apache-2.0
// Sentences about numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stackmap {

// "1 event is ...", "3 events are ..."; nothing if there are none.
void add_note(std::vector<std::string>& notes, uint64_t n, std::string_view noun, std::string_view one,
              std::string_view many);

}  // namespace stackmap
