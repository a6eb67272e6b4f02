// SPDX-License-Identifier: Apache-2.0
#include "map_output.h"

#include "capture/capture.h"
#include "capture/map_file.h"
#include "output.h"

namespace stackmap {

Result<uint64_t> write_map_of(const std::string& capture_path, const std::string& map) {
  STACKMAP_TRY_VALUE(capture, Capture::open(capture_path));
  STACKMAP_TRY(
      write_output({.path = map, .force = true}, [&](TextWriter& out) { return write_map_text(capture, out); }));
  return capture.stacks().size();
}

}  // namespace stackmap
