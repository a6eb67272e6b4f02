// SPDX-License-Identifier: Apache-2.0
#include "record/record_decoder.h"

#include <array>
#include <cstring>

#include "base/bytes.h"
#include "bpf/stackmap_record.h"

namespace stackmap {

namespace {

std::string_view text_before_nul(const char* text, size_t limit) {
  return {text, strnlen(text, limit)};
}

SampleTask task_of(std::span<const std::byte> fields) {
  const auto f = load_unaligned<stackmap_task_fields>(fields);
  const auto* comm = reinterpret_cast<const char*>(fields.data()) + offsetof(stackmap_task_fields, comm);
  return {f.tid, f.tgid, f.old_tid, text_before_nul(comm, STACKMAP_COMM_SIZE)};
}

bool is_of_task(KnownEvent kind) {
  return kind == kSchedProcessFork || kind == kSchedProcessExec || kind == kSchedProcessExit || kind == kTaskRename;
}

}  // namespace

std::string_view reject_name(Reject reason) {
  switch (reason) {
    case Reject::kTooShort:
      return "too_short";
    case Reject::kUnknownKind:
      return "unknown_kind";
    case Reject::kBadSize:
      return "bad_size";
    case Reject::kBadString:
      return "bad_string";
    case Reject::kUnknownTemplate:
      return "unknown_template";
  }
  return "?";
}

RecordDecoder::RecordDecoder(const std::vector<AnyEvent>& any) {
  for (const AnyEvent& event : any) {
    any_layouts_.push_back(event.layout());
  }
}

std::optional<Reject> RecordDecoder::decode_fields(std::span<const std::byte> fields, const RecordLayout& layout,
                                                   Sample& sample) {
  layout.read(fields.data(), sample.fields);
  sample.field_count = static_cast<uint8_t>(layout.field_count());
  sample.string_field = layout.string_field();
  sample.subject_tid = layout.subject(sample.fields);
  sample.any_event = 0;
  if (is_of_task(sample.kind)) {
    sample.task = task_of(fields);
  }
  if (sample.kind == kAnyEvent || sample.kind == kAnyEventFields) {
    sample.any_event = load_unaligned<stackmap_any_fields>(fields).event;
    if (sample.any_event < kFirstAnyEvent) {
      return Reject::kUnknownKind;
    }
  }
  return std::nullopt;
}

// The tracepoint's own fields, which it has or has not.
std::optional<Reject> RecordDecoder::decode_any(std::span<const std::byte> fields, Sample& sample) const {
  const size_t index = sample.any_event - kFirstAnyEvent;
  const RecordLayout layout = index < any_layouts_.size() ? any_layouts_[index] : RecordLayout();
  if ((layout.field_count() != 0) != (sample.kind == kAnyEventFields)) {
    return Reject::kUnknownKind;
  }
  if (layout.field_count() != 0) {
    layout.read(fields.data(), sample.fields);
    sample.field_count = static_cast<uint8_t>(layout.field_count());
    sample.subject_tid = layout.subject(sample.fields);
  }
  return std::nullopt;
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
  const RecordLayout& layout = record_layout(sample.kind);
  std::array<std::byte, RecordLayout::kMaxBytes> fields{};
  if (layout.is_cached()) {
    std::memcpy(fields.data(), &event.word, layout.dynamic_words() * 8);
    std::memcpy(fields.data() + layout.dynamic_words() * 8, from.fields.data(), layout.fixed_words() * 8);
  }
  (void)decode_fields(fields, layout, sample);
  return sample;
}

RawStack RecordDecoder::take_stack(std::span<const std::byte>& rest, int16_t size, std::vector<uint64_t>& frames) {
  if (size < 0) {
    return {{}, -int{size}};
  }
  const auto bytes = static_cast<size_t>(size);
  frames.resize(bytes / 8);
  if (bytes != 0) {
    std::memcpy(frames.data(), rest.data(), bytes);
  }
  rest = rest.subspan(bytes);
  return {frames, 0};
}

std::optional<Reject> RecordDecoder::decode(std::span<const std::byte> bytes, uint32_t cpu, Sample& sample) {
  if (bytes.size() < sizeof(stackmap_record_header)) {
    return Reject::kTooShort;
  }
  const auto header = load_unaligned<stackmap_record_header>(bytes);
  if (header.size > bytes.size()) {
    return Reject::kTooShort;
  }
  const RecordLayout& layout = record_layout(header.kind);
  const size_t field_bytes = layout.bytes();
  if (field_bytes == 0) {
    return Reject::kUnknownKind;
  }
  const bool task_only = header.kernel_stack == STACKMAP_TASK_ONLY;
  const int16_t kernel_size = task_only ? int16_t{0} : header.kernel_stack;
  const auto stack_bytes = [](int16_t size) { return size > 0 ? static_cast<size_t>(size) : 0; };
  const size_t parts =
      sizeof(header) + field_bytes + header.string_size + stack_bytes(kernel_size) + stack_bytes(header.user_stack);
  if (parts != header.size || stack_bytes(kernel_size) % 8 != 0 || stack_bytes(header.user_stack) % 8 != 0) {
    return Reject::kBadSize;
  }
  sample.kind = static_cast<KnownEvent>(header.kind);
  sample.task_only = task_only;
  sample.cpu = cpu;
  sample.time_ns = header.time_ns;
  sample.tid = header.tid;
  sample.tgid = header.tgid;

  auto rest = bytes.subspan(sizeof(header), header.size - sizeof(header));
  if (const auto reject = decode_fields(rest.first(field_bytes), layout, sample)) {
    return reject;
  }
  if (sample.any_event != 0) {
    if (const auto reject = decode_any(rest.first(field_bytes), sample)) {
      return reject;
    }
  }
  rest = rest.subspan(field_bytes);
  sample.kernel_stack = take_stack(rest, kernel_size, kernel_frames_);
  sample.user_stack = take_stack(rest, header.user_stack, user_frames_);
  sample.string = text_before_nul(reinterpret_cast<const char*>(rest.data()), header.string_size);
  if (header.string_size != 0 && sample.string.size() == header.string_size) {
    return Reject::kBadString;
  }
  return std::nullopt;
}

}  // namespace stackmap
