// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>

#include "base/bytes.h"
#include "bpf/stackmap_cache.h"
#include "record/record_decoder.h"

namespace stackmap {

namespace {

struct Entry {
  uint32_t when;
  uint32_t id;
};

}  // namespace

bool RecordDecoder::is_batch(std::span<const std::byte> bytes) {
  constexpr size_t kKind = offsetof(stackmap_record_header, kind);
  return bytes.size() > kKind && static_cast<uint8_t>(bytes[kKind]) == STACKMAP_BATCH;
}

Sample RecordDecoder::sample_of(const BatchEvent& event, const SampleTemplate& from) {
  Sample sample;
  sample.kind = from.kind();
  sample.cpu = event.cpu;
  sample.time_ns = event.time_ns;
  sample.tid = event.tid;
  sample.tgid = event.tgid;
  sample.kernel_stack = {from.frames, 0};
  sample.string = from.text();
  const FieldWords words = field_words(sample.kind);
  std::array<std::byte, 32> fields{};
  std::memcpy(fields.data(), &event.word, words.dynamic * 8);
  std::memcpy(fields.data() + words.dynamic * 8, from.fields.data(), words.fixed * 8);
  (void)decode_fields(fields, sample);
  return sample;
}

void RecordDecoder::decode_batch(std::span<const std::byte> bytes, uint32_t cpu, BatchEvents& events) {
  if (bytes.size() < sizeof(stackmap_record_header)) {
    events.on_reject(Reject::kTooShort, 1);
    return;
  }
  const auto header = load_unaligned<stackmap_record_header>(bytes);
  // What a batch says of its length is only believed as far as there are bytes for it.
  uint64_t left = std::clamp<uint64_t>(header.kernel_stack < 0 ? 0 : static_cast<uint64_t>(header.kernel_stack), 1,
                                       std::max<uint64_t>((bytes.size() - sizeof(header)) / sizeof(Entry), 1));
  if (header.size > bytes.size() || header.size < sizeof(header)) {
    events.on_reject(Reject::kTooShort, left);
    return;
  }
  auto rest = bytes.subspan(sizeof(header), header.size - sizeof(header));
  if (header.kernel_stack < 1 || left != static_cast<uint64_t>(header.kernel_stack) || header.string_size != 0 ||
      header.user_stack != 0) {
    events.on_reject(Reject::kBadSize, left);
    return;
  }
  BatchEvent event;
  event.cpu = cpu;
  event.tid = header.tid;
  event.tgid = header.tgid;
  while (!rest.empty()) {
    const auto entry = rest.size() >= sizeof(Entry) ? load_unaligned<Entry>(rest) : Entry{0, 0};
    const size_t size = sizeof(Entry) + (entry.when >> STACKMAP_BATCH_TIME_BITS) * 8;
    const bool thread = entry.id >= STACKMAP_BATCH_THREAD;
    if (size > rest.size() || (thread && size != sizeof(Entry)) || (!thread && left == 0)) {
      break;
    }
    const auto words = rest.subspan(sizeof(Entry), size - sizeof(Entry));
    rest = rest.subspan(size);
    if (thread) {
      event.tid = entry.when;
      event.tgid = entry.id - STACKMAP_BATCH_THREAD;
      continue;
    }
    --left;
    event.time_ns = header.time_ns + (entry.when & STACKMAP_BATCH_TIME_MASK);
    const SampleTemplate* from = events.find_template(entry.id);
    if (from == nullptr) {
      events.on_reject(Reject::kUnknownTemplate, 1);
      continue;
    }
    const FieldWords kind = field_words(from->kind());
    if (kind.dynamic * 8 != words.size() || kind.dynamic + kind.fixed == 0) {
      events.on_reject(Reject::kBadSize, 1);
      continue;
    }
    event.word = words.empty() ? 0 : load_unaligned<uint64_t>(words);
    events.on_event(event, *from);
  }
  // Events that are not there, or bytes behind the last one that was promised.
  if (left != 0 || !rest.empty()) {
    events.on_reject(Reject::kBadSize, std::max<uint64_t>(left, 1));
  }
}

}  // namespace stackmap
