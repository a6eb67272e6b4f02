// SPDX-License-Identifier: Apache-2.0
// Messages for people, on stderr. Data never goes here, and messages never go to stdout. Thread-safe: one write a line.
#pragma once

#include <string>

namespace stackmap {

void log_error(const std::string& text);    // "stackmap: TEXT"
void log_warning(const std::string& text);  // "stackmap: warning: TEXT"
void log_note(const std::string& text);     // "stackmap: TEXT"; silent after set_quiet(true)
void set_quiet(bool quiet);

}  // namespace stackmap
