// SPDX-License-Identifier: Apache-2.0
// Text for JSON (RFC 8259). Pure functions: thread-safe, no errors.
#pragma once

#include <string>
#include <string_view>

namespace stackmap {

// The text as a JSON string, with its quotes. Valid whatever the bytes are: quotes and backslashes are escaped, control
// bytes (0x7f too) become \u00NN, and a byte that is not UTF-8 becomes \ufffd; all else stays as it is.
std::string json_string(std::string_view text);

}  // namespace stackmap
