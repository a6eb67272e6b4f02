// SPDX-License-Identifier: Apache-2.0
// Any bytes as a binary map, as they are and with their checksums mended: no step out of the buffer, and what is read
// whole is written again as it was.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "capture/map_binary.h"
#include "capture/map_binary_writer.h"
#include "fuzz/allocation_bound.h"
#include "support/memory_file.h"

using namespace stackmap;

namespace {

void mend_checksums(std::string& bytes) {
  if (bytes.size() < STACKMAP_MAP_HEADER_BYTES) {
    return;
  }
  const size_t header = stackmap_map_load32(reinterpret_cast<const unsigned char*>(bytes.data()) + 8);
  if (header < STACKMAP_MAP_HEADER_BYTES || header > bytes.size()) {
    return;
  }
  const uint32_t records = crc32c(bytes_of(bytes).subspan(header));
  std::memcpy(bytes.data() + 60, &records, 4);
  const uint32_t head = crc32c(bytes_of(bytes).subspan(68, header - 68), crc32c(bytes_of(bytes).first(64)));
  std::memcpy(bytes.data() + 64, &head, 4);
}

// The installed reader promises to allocate nothing.
void read_without_allocating(const std::string& bytes) {
  const stackmap_test::AllocationBound bound(0);
  stackmap_map_header header = {};
  stackmap_map_cursor cursor = {0, 0, 0, 0};
  stackmap_map_record record = {};
  if (stackmap_map_open(bytes.data(), bytes.size(), &header) == 0) {
    while (stackmap_map_next(bytes.data(), bytes.size(), &header, &cursor, &record) == 1) {
    }
  }
}

void read_and_write(const std::string& bytes) {
  // A copy of its own, so that a sanitizer sees any step over its end.
  const std::vector<char> copy(bytes.begin(), bytes.end());
  stackmap_map_header header = {};
  if (stackmap_map_open(copy.data(), copy.size(), &header) != 0) {
    return;
  }
  MapGeneration generation;
  generation.number = header.generation;
  generation.capacity = header.capacity;
  generation.max_depth = header.max_depth;
  generation.successes = header.successes;
  generation.fallbacks = header.fallbacks;
  generation.counted = (header.flags & STACKMAP_MAP_COUNTED) != 0;
  std::deque<std::vector<uint64_t>> frames;
  stackmap_map_cursor cursor = {0, 0, 0, 0};
  stackmap_map_record record = {};
  int status = 0;
  while ((status = stackmap_map_next(copy.data(), copy.size(), &header, &cursor, &record)) == 1) {
    auto& of_one = frames.emplace_back();
    for (uint32_t i = 0; i < record.depth; ++i) {
      of_one.push_back(stackmap_map_frame(&record, i));
    }
    generation.stacks.push_back({Cookie(header.generation, record.slot), of_one, record.ref});
  }
  const bool ours = header.flags <= 1 && bytes.compare(8, 4, std::string("\x48\0\0\0", 4)) == 0 &&
                    bytes.compare(68, 4, std::string(4, '\0')) == 0;
  if (status != 0 || !ours) {
    return;
  }
  const std::string again = stackmap_test::written([&](TextWriter& out) {
    if (!write_map_binary(generation, out)) {
      std::abort();
    }
  });
  if (again != bytes) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  read_without_allocating(bytes);
  read_and_write(bytes);
  mend_checksums(bytes);
  read_without_allocating(bytes);
  read_and_write(bytes);
  return 0;
}
