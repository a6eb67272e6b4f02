// SPDX-License-Identifier: Apache-2.0
// Ring bytes -> Sample, or the reason why not. The bytes are not trusted: any input gives one or the other,
// and the decoder holds at most kMemoryFactor bytes for each byte of the longest record: the frames, and while their
// room grows the old room too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "record/sample.h"
#include "record/sample_template.h"

namespace stackmap {

enum class Reject : uint8_t {
  kTooShort,         // shorter than a header, or than its header says
  kUnknownKind,      // of a kind that this version does not know
  kBadSize,          // its parts do not add up to its length
  kBadString,        // a string without an end
  kUnknownTemplate,  // an event of a batch whose template is not known
};
inline constexpr size_t kRejectReasons = 5;
std::string_view reject_name(Reject reason);

// What decode_batch() asks, and what it tells.
class BatchEvents {
 public:
  virtual ~BatchEvents() = default;
  // The template that was published under this id; null if none was. Valid during the next on_event().
  virtual const SampleTemplate* find_template(uint32_t id) = 0;
  virtual void on_event(const BatchEvent& event, const SampleTemplate& from) = 0;
  virtual void on_reject(Reject reason, uint64_t events) = 0;
};

// Not thread-safe: one decoder a reader thread.
class RecordDecoder {
 public:
  static constexpr size_t kMemoryFactor = 4;
  // Decodes one record into `sample`, whose views point into `bytes` and into the decoder and are valid until the next
  // call. `bytes` may be longer than the record (perf pads it). On a rejection `sample` is unspecified.
  std::optional<Reject> decode(std::span<const std::byte> bytes, uint32_t cpu, Sample& sample);

  // Whether the record is a batch (bpf/stackmap_cache.h), which holds many events.
  static bool is_batch(std::span<const std::byte> bytes);
  // Tells of each event of a batch, in order, once: as an event or as rejected. One that cannot be understood costs no
  // other, unless the batch is cut or garbled: then all that follow are rejected, as many as it says that it has.
  void decode_batch(std::span<const std::byte> bytes, uint32_t cpu, BatchEvents& events);
  // The event as decode() of its record would have given it; the views are the template's.
  static Sample sample_of(const BatchEvent& event, const SampleTemplate& from);

 private:
  static std::optional<Reject> decode_fields(std::span<const std::byte> fields, Sample& sample);
  RawStack take_stack(std::span<const std::byte>& rest, int16_t size, std::vector<uint64_t>& frames);

  // perf does not align what it hands over to 8 bytes.
  std::vector<uint64_t> kernel_frames_;
  std::vector<uint64_t> user_frames_;
};

}  // namespace stackmap
