// SPDX-License-Identifier: Apache-2.0
// Any bytes as ring records and as batches: no crash, no view outside of the record or its template, and no more events
// or rejects than there is room for.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "fuzz/allocation_bound.h"
#include "record/batch_reader.h"
#include "record/record_decoder.h"

using namespace stackmap;

namespace {

// Reads all that the sample shows, so that a sanitizer sees it.
void read_all(const Sample& sample) {
  uint64_t sum = 0;
  for (const RawStack* stack : {&sample.kernel_stack, &sample.user_stack}) {
    for (const uint64_t frame : stack->frames) {
      sum += frame;
    }
  }
  for (const char c : sample.string) {
    sum += static_cast<unsigned char>(c);
  }
  [[maybe_unused]] static volatile uint64_t all;
  all = sum;
}

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

// A template of every kind, also of those that have none: the lowest bits of the id.
struct Batch {
  const SampleTemplate* find(uint32_t id) {
    if (id % 64 >= 32) {
      return nullptr;
    }
    made.shape = id % 32 | (id / 64 % 2 * 8) << 8 | uint64_t{24} << 16;
    made.frames = frames;
    return &made;
  }
  void on_event(const BatchEvent& event, const SampleTemplate& from) {
    const Sample sample = RecordDecoder::sample_of(event, from);
    require(&from == &made && sample.kernel_stack.frames.size() == frames.size());
    require(sample.field_count <= Sample::kMaxFields);
    read_all(sample);
    ++told;
  }
  void on_reject(Reject, uint64_t events) { told += events; }

  std::array<uint64_t, 3> frames = {1, 2, 3};
  SampleTemplate made;
  uint64_t told = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Two tracepoints without a program of their own, the second with fields.
  static const std::vector<AnyEvent> any = {
      {{"irq", "one"}, {}},
      {{"irq", "two"}, {{{"a", FieldFormat::kTid}, 8, 4, true}, {{"b", FieldFormat::kUnsigned}, 12, 1, false}}}};
  RecordDecoder decoder(any);
  const stackmap_test::AllocationBound bound(RecordDecoder::kMemoryFactor * size);
  Sample sample;
  const auto bytes = std::as_bytes(std::span(data, size));
  Batch batch;
  decode_batch(
      bytes, 0, [&](uint32_t id) { return batch.find(id); }, batch);
  require(batch.told >= 1 && batch.told <= size / 8 + 1);
  if (!decoder.decode(bytes, 0, sample)) {
    const size_t parts =
        (sample.kernel_stack.frames.size() + sample.user_stack.frames.size()) * 8 + sample.string.size();
    require(parts <= size && sample.field_count <= Sample::kMaxFields);
    read_all(sample);
  }
  return 0;
}
