// SPDX-License-Identifier: Apache-2.0
// The door for output formats: what `export` writes.
//
// A format is a file NAME.cpp with a `const Format format_NAME`; CMakeLists.txt lists the names, and with that the
// command offers it. It is written from a profile and from nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "profile/profile.h"

namespace stackmap {

enum class KernelNames : uint8_t {
  kPlain,
  kSuffixed,  // they end in "_[k]", by which some tools colour them
};

struct FormatOptions {
  KernelNames kernel_names = KernelNames::kPlain;
};

struct Format {
  std::string_view name;  // as --format takes it
  // Returns what a reader must know, a sentence each, for stderr. A write that failed is reported by out.flush().
  std::vector<std::string> (*write)(const Profile& profile, const FormatOptions& options, TextWriter& out) = nullptr;
};

// All of them, the default first.
std::span<const Format* const> formats();
// Null if there is none of that name.
const Format* find_format(std::string_view name);

// Notes that several formats need: stacks that were left out, and numbers (one value, or their sum) that readers with
// binary64 numbers will round.
void note_zero_stacks(std::vector<std::string>& notes, uint64_t stacks);
void note_large_numbers(std::vector<std::string>& notes, uint64_t largest);

}  // namespace stackmap
