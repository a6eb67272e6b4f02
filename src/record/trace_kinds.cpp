// SPDX-License-Identifier: Apache-2.0
#include "record/trace_kinds.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "bpf/stackmap_record.h"

namespace stackmap {

namespace {

using enum FieldFormat;

constexpr TraceKind kTraceKinds[] = {
    {"sched", "sched_migrate_task", {{{"pid", kTid}, {"prio"}, {"orig_cpu"}, {"dest_cpu"}}}},
};

// A program sees the first 8 bytes of a tracepoint's record as something else; the kernel's records are no longer than
// PERF_MAX_TRACE_SIZE.
constexpr uint64_t kFirstOffset = 8;
constexpr uint64_t kRecordEnd = 8192;

std::string_view after(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : std::string_view();
}

std::optional<uint64_t> number_after(std::string_view part, std::string_view key) {
  const size_t begin = part.find_first_not_of(" \t");
  const auto number = parse_uint(begin == std::string_view::npos ? part : after(part.substr(begin), key));
  return number ? std::optional(*number) : std::nullopt;
}

// "	field:pid_t pid;	offset:12;	size:4;	signed:1;" None for what is no number: an array, a string that
// is somewhere else in the record, a struct.
std::optional<AnyField> parse_line(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t");
  const auto parts = split(begin == std::string_view::npos ? line : line.substr(begin), ';');
  if (parts.size() < 4) {
    return std::nullopt;
  }
  const std::string_view declaration = after(parts[0], "field:");
  const auto offset = number_after(parts[1], "offset:");
  const auto size = number_after(parts[2], "size:");
  const auto sign = number_after(parts[3], "signed:");
  if (declaration.empty() || !offset || !size || !sign || declaration.find('[') != std::string_view::npos) {
    return std::nullopt;
  }
  const bool is_word = *size == 1 || *size == 2 || *size == 4 || *size == 8;
  if (!is_word || *offset < kFirstOffset || *offset > kRecordEnd - *size) {
    return std::nullopt;
  }
  AnyField field;
  field.type.name = declaration.substr(declaration.find_last_of(" *") + 1);
  field.offset = static_cast<uint16_t>(*offset);
  field.size = static_cast<uint8_t>(*size);
  field.is_signed = *sign != 0;
  return field;
}

}  // namespace

uint32_t AnyField::place() const {
  return uint32_t{size} << STACKMAP_PLACE_SIZE_SHIFT | offset;
}

RecordLayout AnyEvent::layout() const {
  if (fields.empty()) {
    return {};
  }
  RecordLayout layout(kAnyFieldsOffset + kMaxAnyFields * 8, RecordLayout::kNotCached, {});
  for (size_t i = 0; i < fields.size(); ++i) {
    FieldRole role = fields[i].is_signed ? FieldRole::kSigned : FieldRole::kUnsigned;
    role = fields[i].type.format == kTid ? FieldRole::kSubject : role;
    layout.add({static_cast<uint8_t>(kAnyFieldsOffset + i * 8), fields[i].size, role});
  }
  return layout;
}

const TraceKind* find_trace_kind(std::string_view category, std::string_view name) {
  const auto* found = std::ranges::find_if(
      kTraceKinds, [&](const TraceKind& kind) { return kind.category == category && kind.name == name; });
  return found != std::end(kTraceKinds) ? found : nullptr;
}

KeptFields keep_fields(const TraceKind& kind, std::string_view format) {
  std::vector<AnyField> all;
  for (const std::string_view line : split(format, '\n')) {
    if (auto field = parse_line(line)) {
      all.push_back(std::move(*field));
    }
  }
  KeptFields kept;
  for (const TraceKind::Field& wanted : kind.fields) {
    if (wanted.name.empty()) {
      continue;
    }
    const auto found = std::ranges::find(all, wanted.name, [](const AnyField& field) { return field.type.name; });
    if (found == all.end()) {
      kept.missing.emplace_back(wanted.name);
      continue;
    }
    found->type.format = wanted.format == kUnsigned && found->is_signed ? kSigned : wanted.format;
    kept.fields.push_back(*found);
  }
  return kept;
}

}  // namespace stackmap
