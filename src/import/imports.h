// SPDX-License-Identifier: Apache-2.0
// What can be imported. Each format is a file of this folder, which reads its text into a CaptureBuilder, and a line in
// imports.cpp; `stackmap import NAME` is made from what it says of itself here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/capture_builder.h"

namespace stackmap {

struct NamedText {
  std::string name;  // of the file
  std::string text;
};

struct ImportInput {
  NamedText file;
  std::vector<NamedText> maps;  // where the format takes any
};

struct Import {
  CaptureBuilder capture;  // its ledger has import.events, and what could not be imported
  // What the user must know of what is missing, a sentence each.
  std::vector<std::string> warnings;
  std::string summary;  // goes behind the numbers of events and stacks; empty: nothing to add
};

struct ImportFormat {
  std::string_view name;  // stackmap import NAME
  std::string_view help;  // one line
  std::string_view file;  // what its file is called in a usage line
  std::string_view file_help;
  std::string_view maps_help;      // of --map; empty: it takes none
  std::string_view symbol_source;  // who named the frames
  // What read() takes of memory at most: so many bytes, and so many for each byte of its input.
  size_t memory_base = 0;
  size_t memory_factor = 0;
  // `input` must outlive the import. kCorrupt, with the file and the line, if the input is nothing of the kind.
  Result<Import> (*read)(const ImportInput& input) = nullptr;
};

// In the order of --help.
std::span<const ImportFormat> import_formats();
// Null if there is none of that name.
const ImportFormat* find_import_format(std::string_view name);

}  // namespace stackmap
