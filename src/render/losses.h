// SPDX-License-Identifier: Apache-2.0
// The loss ledger, for people: capture/losses.h says what counts as lost. Names that are not known there are shown as
// they are.
#pragma once

#include <string>

#include "base/file.h"
#include "capture/ledger.h"

namespace stackmap {

// "lost 0 of 1,234,567 events", "lost 12 of 1,234,567 events: 10 ring full, 2 missed (recursion)".
std::string one_line_summary(const Ledger& ledger);

// A table with a row an event, then what else is not zero. A write that failed is reported by out.flush().
void write_losses(const Ledger& ledger, TextWriter& out);

}  // namespace stackmap
