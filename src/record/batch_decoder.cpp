// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>

#include "bpf/stackmap_cache.h"
#include "record/record_decoder.h"

namespace stackmap {

namespace {

struct Entry {
  uint32_t when;
  uint32_t id;
};

template <typename T>
T load(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// The thread, the fields and the template of one event, put together.
void fill(Sample& sample, const SampleTemplate& from) {
  sample.kind = from.kind();
  sample.task_only = false;
  sample.kernel_stack = {from.frames, 0};
  sample.user_stack = {};
  sample.string = from.text();
  sample.task = {};
}

}  // namespace

bool RecordDecoder::is_batch(std::span<const std::byte> bytes) {
  constexpr size_t kKind = offsetof(stackmap_record_header, kind);
  return bytes.size() > kKind && static_cast<uint8_t>(bytes[kKind]) == STACKMAP_BATCH;
}

std::optional<Reject> RecordDecoder::decode_event(std::span<const std::byte> dynamic, const SampleTemplate* from,
                                                  Sample& sample) {
  if (from == nullptr) {
    return Reject::kUnknownTemplate;
  }
  const FieldWords words = field_words(from->kind());
  if (words.dynamic * 8 != dynamic.size() || words.dynamic + words.fixed == 0) {
    return Reject::kBadSize;
  }
  std::array<std::byte, 32> fields{};
  std::memcpy(fields.data(), dynamic.data(), dynamic.size());
  std::memcpy(fields.data() + dynamic.size(), from->fields.data(), words.fixed * 8);
  fill(sample, *from);
  return decode_fields(fields, sample);
}

void RecordDecoder::decode_batch(std::span<const std::byte> bytes, uint32_t cpu, BatchEvents& events) {
  if (bytes.size() < sizeof(stackmap_record_header)) {
    events.on_reject(Reject::kTooShort, 1);
    return;
  }
  const auto header = load<stackmap_record_header>(bytes);
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
  Sample sample;
  sample.cpu = cpu;
  sample.tid = header.tid;
  sample.tgid = header.tgid;
  while (!rest.empty()) {
    const auto entry = rest.size() >= sizeof(Entry) ? load<Entry>(rest) : Entry{0, 0};
    const size_t size = sizeof(Entry) + (entry.when >> STACKMAP_BATCH_TIME_BITS) * 8;
    const bool thread = entry.id == STACKMAP_BATCH_THREAD;
    if (size > rest.size() || (thread && size != sizeof(Entry) + 8) || (!thread && left == 0)) {
      break;
    }
    const auto words = rest.subspan(sizeof(Entry), size - sizeof(Entry));
    rest = rest.subspan(size);
    if (thread) {
      const auto number = load<uint64_t>(words);
      sample.tid = static_cast<uint32_t>(number);
      sample.tgid = static_cast<uint32_t>(number >> 32);
      continue;
    }
    --left;
    sample.time_ns = header.time_ns + (entry.when & STACKMAP_BATCH_TIME_MASK);
    const SampleTemplate* from = events.find_template(entry.id);
    if (const auto reject = decode_event(words, from, sample)) {
      events.on_reject(*reject, 1);
    } else {
      events.on_event(sample, *from);
    }
  }
  // Events that are not there, or bytes behind the last one that was promised.
  if (left != 0 || !rest.empty()) {
    events.on_reject(Reject::kBadSize, std::max<uint64_t>(left, 1));
  }
}

}  // namespace stackmap
