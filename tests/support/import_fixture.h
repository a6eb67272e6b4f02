// SPDX-License-Identifier: Apache-2.0
// An import, and the capture that was made of it, read back.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/capture.h"
#include "import/imports.h"
#include "support/catch.h"
#include "support/faulty_file.h"

namespace stackmap_test {

using namespace stackmap;

struct Imported {
  uint64_t stacks = 0;
  std::vector<std::string> warnings;
  std::string summary;
  Capture capture;

  // A counter of its ledger, "import.NAME".
  uint64_t count(const std::string& name) const { return capture.ledger().get("import." + name); }
};

inline Result<Import> read_import(std::string_view format_name, const ImportInput& input) {
  const ImportFormat* format = find_import_format(format_name);
  REQUIRE(format != nullptr);
  return format->read(input);
}

inline Imported imported(std::string_view format, const ImportInput& input) {
  auto import = read_import(format, input);
  REQUIRE(import.ok());
  auto disk = std::make_shared<Disk>();
  REQUIRE(import->capture.write(std::make_unique<FaultyFile>(disk), {}).ok());
  auto capture = Capture::open(memory_file(disk->bytes, "c"));
  REQUIRE(capture.ok());
  CHECK_FALSE(capture->damage().any());
  CHECK(capture->damage().closed);
  return {import->capture.stacks().size(), std::move(import->warnings), std::move(import->summary),
          std::move(capture).value()};
}

inline std::string import_error(std::string_view format, const ImportInput& input) {
  const auto import = read_import(format, input);
  return import ? "no error" : import.error().message();
}

}  // namespace stackmap_test
