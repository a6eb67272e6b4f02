// SPDX-License-Identifier: Apache-2.0
// Any text as a map file: no crash, and what it parses to has what the text says.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "capture/map_file.h"
#include "fuzz/allocation_bound.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const stackmap_test::AllocationBound bound(stackmap::kMapFileMemoryBase + stackmap::kMapFileMemoryFactor * size);
  const auto records = stackmap::parse_map_file(text, "fuzz");
  if (records) {
    size_t lines = 0;
    for (const auto& record : *records) {
      lines += 1 + record.frames.size();
    }
    size_t breaks = 0;
    for (const char c : text) {
      breaks += c == '\n' ? 1 : 0;
    }
    if (lines != breaks) {
      std::abort();
    }
  }
  return 0;
}
