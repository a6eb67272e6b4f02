// SPDX-License-Identifier: Apache-2.0
// Names made safe for text outputs, and their width on a screen.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stackmap {

// printable(), and as \xNN also what XML 1.0 or a line-reading tool takes amiss: C1 control characters, line and
// paragraph separators, marks that reverse the direction of writing, U+FFFE and U+FFFF.
std::string clean_text(std::string_view text);

// clean_text(), "[empty]" for nothing.
std::string display_name(std::string_view name);

// Columns in a fixed-width font: 2 for East Asian wide characters and emoji, 0 for combining marks, else 1. `text` is
// UTF-8.
size_t text_columns(std::string_view text);

// The beginning of `text` that fits `columns`, with a "…" at its end if that is not all of it; empty if not even that
// fits.
std::string cut_to_columns(std::string_view text, size_t columns);

// Lines of at most `columns`, broken at spaces; a word that is longer is cut.
std::vector<std::string> wrap_text(std::string_view text, size_t columns);

}  // namespace stackmap
