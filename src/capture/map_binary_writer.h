// SPDX-License-Identifier: Apache-2.0
// One generation of a map for other programs: its binary form (MAP_BINARY.md; map_binary.h reads it) and JSON. Pure
// functions: thread-safe. The whole output is held in memory once.
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

namespace stackmap {

// What is known of a generation besides its stacks.
struct MapGeneration {
  uint32_t number = 0;
  uint32_t capacity = 0;   // stacks that the map can hold; 0 if not known
  uint32_t max_depth = 0;  // frames that a stack can have; 0 if not known
  uint64_t successes = 0;  // stacks recorded as a cookie
  uint64_t fallbacks = 0;  // stacks recorded in full
  bool counted = false;    // capacity, successes and fallbacks are what the map itself counted
  std::vector<CapturedStack> stacks;
  std::function<uint64_t(uint64_t)> address;  // of a frame (Capture::address()); empty: the frame itself
};

// The generation `number` of a capture, or the last one if it is 0. The last one's numbers are the ledger's, where that
// has them. Else successes are the sum of the refs and the fallbacks are counted from the events: one belongs to the
// generation of the last cookie before it in the file (of the first one, if there is none before it). kNotFound if the
// capture has no such generation. The capture must outlive the result.
Result<MapGeneration> map_generation(const Capture& capture, uint32_t number);

// In order of slot; refs saturate at 2147483647. kFailed if a stack has more frames, or the map more stacks, than 32
// bits count. A write that failed is reported by out.flush().
Result<void> write_map_binary(const MapGeneration& generation, TextWriter& out);

// {"generation":1,"capacity":16384,"entries":1,"successes":2,"fallbacks":0,"stacks":[
// {"slot":42,"gen":1,"ref":2,"frames":["schedule+0x48/0xc0"]}
// ]}
// Valid JSON whatever the names hold: control bytes are escaped, and a byte that is not UTF-8 becomes \ufffd.
void write_map_json(const MapGeneration& generation, const std::function<std::string(uint64_t)>& symbol_text,
                    TextWriter& out);

}  // namespace stackmap
