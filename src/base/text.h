// SPDX-License-Identifier: Apache-2.0
// Small text helpers: parsing of numbers, sizes and durations, and their human forms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stackmap {

// A whole decimal number, nothing before or after it.
Result<uint64_t> parse_uint(std::string_view text);
// Numbers and ranges of them, as the kernel lists CPUs: "0-3,8,10-11". White space at the end is let be. At most 65,536
// numbers.
Result<std::vector<uint32_t>> parse_number_list(std::string_view text);
// Bytes: a whole number with an optional K, M, G (powers of 1024), optionally followed by B or iB. "512K", "2MiB".
Result<uint64_t> parse_size(std::string_view text);
// Nanoseconds: a number with an optional fraction and ms, s (default), m or h. "10", "1.5s", "250ms".
Result<uint64_t> parse_duration(std::string_view text);

std::vector<std::string_view> split(std::string_view text, char separator);

// "512 B", "12.3 KiB", "4.0 MiB".
std::string human_size(uint64_t bytes);
// "1,234,567".
std::string human_count(uint64_t count);

// "EFAULT"; the number where it has no name.
std::string errno_name(int errnum);

// The text with control bytes, and bytes that are not UTF-8, as \xNN; a backslash before an x is doubled.
std::string printable(std::string_view text);
// Whether the text is well-formed UTF-8 (no surrogates, no overlong forms).
bool is_utf8(std::string_view text);

}  // namespace stackmap
