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

namespace stackmap {

enum class Reject : uint8_t {
  kTooShort,     // shorter than a header, or than its header says
  kUnknownKind,  // of a kind that this version does not know
  kBadSize,      // its parts do not add up to its length
  kBadString,    // a string without an end
};
inline constexpr size_t kRejectReasons = 4;
std::string_view reject_name(Reject reason);

// Not thread-safe: one decoder a reader thread.
class RecordDecoder {
 public:
  static constexpr size_t kMemoryFactor = 4;
  // Decodes one record into `sample`, whose views point into `bytes` and into the decoder and are valid until the next
  // call. `bytes` may be longer than the record (perf pads it). On a rejection `sample` is unspecified.
  std::optional<Reject> decode(std::span<const std::byte> bytes, uint32_t cpu, Sample& sample);

 private:
  std::optional<Reject> decode_fields(std::span<const std::byte> fields, Sample& sample);
  RawStack take_stack(std::span<const std::byte>& rest, int16_t size, std::vector<uint64_t>& frames);

  // perf does not align what it hands over to 8 bytes.
  std::vector<uint64_t> kernel_frames_;
  std::vector<uint64_t> user_frames_;
};

// How the runs of one program on one CPU ended.
struct ProgramCounters {
  uint64_t filtered = 0;
  uint64_t sent = 0;
  uint64_t ring_full = 0;
  uint64_t output_error = 0;
  uint64_t scratch_busy = 0;

  ProgramCounters& operator+=(const ProgramCounters& other);
  uint64_t total() const { return filtered + sent + ring_full + output_error + scratch_busy; }
};

// From a value of the map `programs`. `bytes` must hold at least kCounterBytes.
inline constexpr size_t kCounterBytes = 64;
ProgramCounters decode_counters(std::span<const std::byte> bytes);

}  // namespace stackmap
