// SPDX-License-Identifier: Apache-2.0
#include "import/imports.h"

#include <algorithm>

namespace stackmap {

ImportFormat folded_import();
ImportFormat ftrace_import();

std::span<const ImportFormat> import_formats() {
  static const ImportFormat formats[] = {ftrace_import(), folded_import()};
  return formats;
}

const ImportFormat* find_import_format(std::string_view name) {
  const auto formats = import_formats();
  const auto found = std::ranges::find(formats, name, &ImportFormat::name);
  return found != formats.end() ? &*found : nullptr;
}

}  // namespace stackmap
