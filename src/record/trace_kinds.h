// SPDX-License-Identifier: Apache-2.0
// Kinds of event that need no program: a row says which of a tracepoint's fields to keep, and the kernel where they
// are, how long and whether signed, in the tracepoint's `format` file of tracefs. The program for any tracepoint copies
// them. They are events like any other one without a program: numbered by each capture, asked for by name alone.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "record/tracepoint.h"

namespace stackmap {

struct TraceKind {
  struct Field {
    std::string_view name;  // the kernel's; empty: none
    // kUnsigned stands for kSigned where the kernel's field is signed. kTid: the thread that the event is about.
    FieldFormat format = FieldFormat::kUnsigned;
  };
  std::string_view category;
  std::string_view name;
  std::array<Field, kMaxAnyFields> fields;
};

// Null if there is no row for this tracepoint.
const TraceKind* find_trace_kind(std::string_view category, std::string_view name);

struct KeptFields {
  std::vector<AnyField> fields;      // in the row's order
  std::vector<std::string> missing;  // the kernel does not have them, or not as a number
};

// The row's fields, as a `format` file tells of them. Any text is taken: what is not a line of a field says nothing.
KeptFields keep_fields(const TraceKind& kind, std::string_view format);

}  // namespace stackmap
