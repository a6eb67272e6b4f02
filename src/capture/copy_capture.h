// SPDX-License-Identifier: Apache-2.0
// Writes a capture anew: all of it that can be read, or the events of a time with what they need. The copy is one clean
// file; cookies keep their generations and slots, string ids do not stay.
//
// What the copy has:
// - Every event that can be read. One whose stack is lost has none (StackRef::kNone) and is counted in
//   `recover.stacks_missing`; in an imported capture, where a cookie may be without a stack, it keeps its cookie.
// - A field whose string is lost is "?", counted in `recover.strings_missing`. An event of a type whose definition is
//   lost has no fields and a type called `unknown:event_N`.
// - Refs, counted from the events of the copy.
// - The source's ledger, and what was lost as `recover.*` (FORMAT.md section 5), on top of what the source has of it.
// Of a whole copy, tables that no event uses are kept too; of a time, they are left out, and the events that are left
// out are counted in `copy.left_out`.
//
// Tables are written before the events that need them. Memory follows the tables, not the events. Not thread-safe.
#pragma once

#include <cstdint>
#include <limits>

#include "base/result.h"
#include "capture/capture.h"
#include "capture/capture_writer.h"

namespace stackmap {

struct CopyOptions {
  // Events of these times, both included. Tasks are kept from the beginning.
  uint64_t from_ns = 0;
  uint64_t to_ns = std::numeric_limits<uint64_t>::max();
  // False where the source ends without an end block, or begins with a gap, because it is meant to (it is still being
  // written, or keeps the latest alone): then its damage is not counted as `recover.*`.
  bool count_damage = true;

  bool whole() const { return from_ns == 0 && to_ns == std::numeric_limits<uint64_t>::max(); }
};

struct CopyTotals {
  uint64_t events = 0;  // in the copy
  uint64_t stacks = 0;
  uint64_t left_out = 0;         // events of other times
  uint64_t events_lost = 0;      // that the source should have and that cannot be read
  uint64_t stacks_missing = 0;   // events whose stack is lost
  uint64_t strings_missing = 0;  // fields whose string is lost
};

// What the writer of a copy is made with. A whole copy of one segment is that segment; of several, and of a time, it is
// a session of its own.
CaptureInfo copy_info(const Capture& from, const CopyOptions& options);
CaptureWriter::Options copy_writer_options();

// `to` must be new, made with copy_info(), from.event_types() and copy_writer_options(). It is closed. Fails if a read
// or a write does; damage in the source is no failure.
Result<CopyTotals> copy_capture(const Capture& from, CaptureWriter& to, const CopyOptions& options);

}  // namespace stackmap
