// SPDX-License-Identifier: Apache-2.0
// Any bytes as the payload of a block of events. Bytes 0 and 1 are the count that the header gives, byte 2 says how
// many fields the types have; the rest is the payload. What decodes whole is encoded again and decodes to the same
// events.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "capture/event_block.h"
#include "fuzz/allocation_bound.h"

using namespace stackmap;

namespace {

// Above this a slot makes the encoder's table large, which hostile bytes never reach in the program.
constexpr uint32_t kMaxSlot = 65535;

struct Copy {
  Event event;
  std::vector<uint64_t> frames;
  std::vector<uint64_t> fields;
};

bool same(const Copy& copy, const Event& event) {
  const Event& a = copy.event;
  return a.time_ns == event.time_ns && a.cpu == event.cpu && a.tid == event.tid && a.type == event.type &&
         a.stack.state == event.stack.state && a.stack.errnum == event.stack.errnum &&
         a.stack.cookie == event.stack.cookie &&
         copy.frames == std::vector<uint64_t>(event.stack.frames.begin(), event.stack.frames.end()) &&
         copy.fields == std::vector<uint64_t>(event.fields.begin(), event.fields.end());
}

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void round_trip(std::vector<Copy>& events, uint32_t generation, const EventBlockDecoder::FieldCount& fields) {
  EventBlockEncoder encoder;
  for (Copy& copy : events) {
    copy.event.stack.frames = copy.frames;
    copy.event.fields = copy.fields;
    encoder.add(copy.event);
  }
  std::string again;
  encoder.finish(again);
  size_t at = 0;
  EventBlockDecoder decoder;
  const auto done = decoder.decode(bytes_of(again), generation, static_cast<uint32_t>(events.size()), fields,
                                   [&](const Event& event) { return same(events[at++], event); });
  require(done.ok() && *done && at == events.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteReader head({reinterpret_cast<const std::byte*>(data), size});
  const auto count = head.fixed<uint16_t>();
  const auto shape = head.fixed<uint8_t>();
  if (!head.ok()) {
    return 0;
  }
  const auto payload = head.take(head.remaining());
  const EventBlockDecoder::FieldCount fields = [&](uint16_t type) -> size_t {
    return type < 16 ? (shape + type) % (kFieldColumnsPerType + 1) : 0;
  };
  uint32_t seen = 0;
  bool small = true;
  std::optional<bool> whole;
  {
    const stackmap_test::AllocationBound bound(EventBlockDecoder::kMemoryBase +
                                               EventBlockDecoder::kMemoryFactor * payload.size());
    EventBlockDecoder decoder;
    const auto done = decoder.decode(payload, 1, count, fields, [&](const Event& event) {
      require(event.cpu <= kMaxBlockCpu && event.fields.size() == fields(event.type));
      small = small && event.stack.cookie.slot() <= kMaxSlot;
      return ++seen <= count;
    });
    whole = done.ok() ? std::optional(*done) : std::nullopt;
  }
  require(!whole || (*whole && seen == count));
  if (!whole || !small) {
    return 0;
  }
  std::vector<Copy> events;
  EventBlockDecoder decoder;
  (void)decoder.decode(payload, 1, count, fields, [&](const Event& event) {
    events.push_back(
        {event, {event.stack.frames.begin(), event.stack.frames.end()}, {event.fields.begin(), event.fields.end()}});
    return true;
  });
  round_trip(events, 1, fields);
  return 0;
}
