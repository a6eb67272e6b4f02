// SPDX-License-Identifier: Apache-2.0
// Tracepoints by name, and those that are to be recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "record/kinds.h"

namespace stackmap {

struct Tracepoint {
  std::string category;
  std::string name;
  std::string full_name() const { return category + ":" + name; }
  auto operator<=>(const Tracepoint&) const = default;
};

// A field that is taken from a tracepoint's own record, where this kernel has it.
struct AnyField {
  FieldType type;
  uint16_t offset = 0;  // bytes, in that record
  uint8_t size = 0;     // 1, 2, 4 or 8
  bool is_signed = false;
  // As the programs' `any_places` has it.
  uint32_t place() const;
  bool operator==(const AnyField&) const = default;
};

// A tracepoint without a program of its own.
struct AnyEvent : Tracepoint {
  std::vector<AnyField> fields;  // at most kMaxAnyFields; see record/trace_kinds.h

  // Where the fields are in its records. Without fields, if it has none.
  RecordLayout layout() const;
};

struct EventSelection {
  std::vector<KnownEvent> kinds;     // with programs, and fields, of their own
  std::vector<AnyEvent> any;         // any other ones, for their count and stack
  std::vector<std::string> missing;  // of the groups: events that this kernel lacks
};

// Of EventSelection::any.
inline constexpr size_t kMaxAnyEvents = 512;

}  // namespace stackmap
