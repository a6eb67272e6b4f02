// SPDX-License-Identifier: Apache-2.0
#include "record/program_counters.h"

#include <cassert>

#include "base/bytes.h"
#include "bpf/stackmap_record.h"

namespace stackmap {

ProgramCounters& ProgramCounters::operator+=(const ProgramCounters& other) {
  filtered += other.filtered;
  sent += other.sent;
  ring_full += other.ring_full;
  output_error += other.output_error;
  scratch_busy += other.scratch_busy;
  batched += other.batched;
  throttled += other.throttled;
  return *this;
}

static_assert(kCounterBytes == sizeof(stackmap_counters));

ProgramCounters decode_counters(std::span<const std::byte> bytes) {
  assert(bytes.size() >= kCounterBytes);
  const auto c = load_unaligned<stackmap_counters>(bytes);
  return {c.filtered, c.sent + c.batched, c.ring_full + c.batch_full, c.output_error + c.batch_error, c.scratch_busy,
          c.batched,  c.throttled};
}

}  // namespace stackmap
