// SPDX-License-Identifier: Apache-2.0
// Runs the input as a program of interns, resets, offs, ons, frees and lookups against the stack map and its model.
//
// Byte 0 chooses capacity, depth, arena and hash; then one byte a step: 0 reset, 1 off, 2 on, 3 free, 4 lookup of the
// next two bytes as generation and slot, 5 check, otherwise the number of frames (mod 9), each the next byte.
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "fuzz/stack_map_model.h"

namespace {

using stackmap_test::ModelDriver;

uint32_t hash_of_nothing(std::span<const uint64_t>, uint32_t) {
  return 0;
}
uint32_t hash_of_depth(std::span<const uint64_t> frames, uint32_t) {
  return static_cast<uint32_t>(frames.size()) << 30;
}

void step(ModelDriver& driver, uint8_t op, stackmap::ByteReader& reader) {
  switch (op) {
    case 0:
      return driver.reset();
    case 1:
      return driver.off();
    case 2:
      return driver.on();
    case 3:
      return driver.free();
    case 4: {
      const auto generation = reader.fixed<uint8_t>();
      return driver.lookup({generation, reader.fixed<uint8_t>()});
    }
    case 5:
      return driver.check();
    default: {
      ModelDriver::Frames frames(op % 9);
      for (auto& frame : frames) {
        frame = reader.fixed<uint8_t>();
      }
      return driver.intern(frames);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  stackmap::ByteReader reader({reinterpret_cast<const std::byte*>(data), size});
  const auto choice = reader.fixed<uint8_t>();
  stackmap::StackMapOptions options;
  options.capacity = (choice & 1) != 0 ? 4 : 256;
  options.max_depth = (choice & 2) != 0 ? 7 : 5;
  options.arena_limit = (choice & 4) != 0 ? 65536 : 0;
  options.seed = 1;
  options.hash = (choice & 8) == 0 ? nullptr : (choice & 16) == 0 ? hash_of_nothing : hash_of_depth;
  ModelDriver driver(options, {.probes = options.hash != nullptr && options.capacity > 32, .arena = false});
  while (!reader.at_end()) {
    step(driver, reader.fixed<uint8_t>(), reader);
  }
  driver.check();
  return 0;
}
