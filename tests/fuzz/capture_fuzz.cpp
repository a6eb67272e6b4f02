// SPDX-License-Identifier: Apache-2.0
// Any bytes as a capture. The header's checksums are mended first, or nearly every input would end there.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "capture/block.h"
#include "capture/capture.h"

using namespace stackmap;

namespace {

uint32_t load32(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, 4);
  return value;
}
void store32(std::string& bytes, size_t at, uint32_t value) {
  std::memcpy(bytes.data() + at, &value, 4);
}

void mend_checksums(std::string& bytes) {
  const std::string start(reinterpret_cast<const char*>(kBlockStart.data()), kBlockStart.size());
  for (size_t at = bytes.find(start); at != std::string::npos; at = bytes.find(start, at + 1)) {
    if (bytes.size() - at < kBlockHeaderBytes) {
      return;
    }
    const size_t stored = load32(bytes, at + 52);
    if (stored <= bytes.size() - at - kBlockHeaderBytes) {
      store32(bytes, at + 56, crc32c(bytes_of(bytes).subspan(at + kBlockHeaderBytes, stored)));
    }
    store32(bytes, at + 76, crc32c(bytes_of(bytes).subspan(at + 8, kBlockHeaderBytes - 12)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  mend_checksums(bytes);
  auto capture = Capture::open(memory_file(std::move(bytes), "fuzz"));
  if (!capture) {
    return 0;
  }
  uint64_t events = 0;
  const auto read = capture->for_each_event([&](const Event& event) {
    ++events;
    (void)capture->stack(event.stack.cookie);
    const EventType* type = capture->event_type(event.type);
    if (type != nullptr && event.fields.size() != type->fields.size()) {
      std::abort();
    }
    return events < 1000000;
  });
  if (!read || (events < 1000000 && events + capture->damage().events_lost != capture->event_count())) {
    std::abort();
  }
  return 0;
}
