// SPDX-License-Identifier: Apache-2.0
// Any bytes as ring records: no crash, no view outside of the record.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "fuzz/allocation_bound.h"
#include "record/record_decoder.h"

using namespace stackmap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const stackmap_test::AllocationBound bound(RecordDecoder::kMemoryFactor * size);
  RecordDecoder decoder;
  Sample sample;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (!decoder.decode(bytes, 0, sample)) {
    uint64_t sum = 0;
    for (const RawStack* stack : {&sample.kernel_stack, &sample.user_stack}) {
      for (const uint64_t frame : stack->frames) {
        sum += frame;
      }
    }
    for (const char c : sample.string) {
      sum += static_cast<unsigned char>(c);
    }
    const size_t parts =
        (sample.kernel_stack.frames.size() + sample.user_stack.frames.size()) * 8 + sample.string.size();
    if (parts > size || sample.field_count > Sample::kMaxFields || sum == 1) {
      return parts > size ? (std::abort(), 0) : 0;
    }
  }
  return 0;
}
