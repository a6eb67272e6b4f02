// SPDX-License-Identifier: Apache-2.0
// Ring bytes -> Sample, or the reason why not. The bytes are not trusted: any input gives one or the other,
// and the decoder holds at most kMemoryFactor bytes for each byte of the longest record: the frames, and while their
// room grows the old room too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "record/reject.h"
#include "record/sample.h"
#include "record/sample_template.h"
#include "record/tracepoint.h"

namespace stackmap {

// Not thread-safe: one decoder a reader thread.
class RecordDecoder {
 public:
  static constexpr size_t kMemoryFactor = 4;
  // `any` are the tracepoints without a program of their own, by number - kFirstAnyEvent.
  explicit RecordDecoder(const std::vector<AnyEvent>& any = {});

  // Decodes one record into `sample`, whose views point into `bytes` and into the decoder and are valid until the next
  // call. `bytes` may be longer than the record (perf pads it). On a rejection `sample` is unspecified.
  std::optional<Reject> decode(std::span<const std::byte> bytes, uint32_t cpu, Sample& sample);

  // The event of a batch as decode() of its record would have given it; the views are the template's.
  static Sample sample_of(const BatchEvent& event, const SampleTemplate& from);

 private:
  static std::optional<Reject> decode_fields(std::span<const std::byte> fields, const RecordLayout& layout,
                                             Sample& sample);
  std::optional<Reject> decode_any(std::span<const std::byte> fields, Sample& sample) const;
  RawStack take_stack(std::span<const std::byte>& rest, int16_t size, std::vector<uint64_t>& frames);

  std::vector<RecordLayout> any_layouts_;
  // perf does not align what it hands over to 8 bytes.
  std::vector<uint64_t> kernel_frames_;
  std::vector<uint64_t> user_frames_;
};

}  // namespace stackmap
