// SPDX-License-Identifier: Apache-2.0
// The map file: cookies and the names of their frames, in the text that the ftrace stack map series prints, every
// generation in one file:
//
//   stack_id 42 gen 1 ref 1337 depth 2
//    => schedule+0x48/0xc0
//    => schedule_timeout+0x1c/0x30
//
// What is parsed is not trusted: it takes at most kMapFileMemoryBase and kMapFileMemoryFactor bytes for each byte of
// the text, whatever depth it claims.
//
// Frames are innermost first. `ref` saturates at 2147483647 (INT_MAX), as the kernel's does. Pure functions:
// thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "capture/capture.h"
#include "stackmap/cookie.h"

namespace stackmap {

// In order of generation and slot. `symbol_text` gives the text of a return address ("name+0xoff/0xsize [module]", or
// "0x..."); line breaks in it are escaped. A write that failed is reported by out.flush().
void write_map_file(std::span<const CapturedStack> stacks, const std::function<std::string(uint64_t)>& symbol_text,
                    TextWriter& out);

// The map file of a capture: every stack with its count and its names. Fails if the capture cannot be read; writes that
// failed are reported by out.flush().
Result<void> write_map_text(const Capture& capture, TextWriter& out);

inline constexpr size_t kMapFileMemoryBase = size_t{64} << 10;
inline constexpr size_t kMapFileMemoryFactor = 32;

struct MapFileRecord {
  Cookie cookie;
  uint64_t ref = 0;
  std::vector<std::string> frames;  // as text, innermost first
  bool operator==(const MapFileRecord&) const = default;
};

// Strict: anything that write_map_file() or the kernel would not write is kCorrupt, as "NAME:LINE: reason"; so are two
// records of one cookie and a file that ends within a record or a line. Records are in the order of the file.
Result<std::vector<MapFileRecord>> parse_map_file(std::string_view text, const std::string& name);

}  // namespace stackmap
