// SPDX-License-Identifier: Apache-2.0
// Frames of the tracing machinery itself, which stand before a stack's real leaf: how many depends on the kernel, the
// architecture and the way a program is attached, so they are known by their symbols and never by a number.
//
// Pure functions: thread-safe, no errors.
#pragma once

#include <cstddef>
#include <span>

#include "process/kernel_symbol.h"

namespace stackmap {

// Whether the symbol is part of what calls a tracing program or walks a stack for it: BPF programs, trampolines and the
// interpreter; the functions that the kernel generates for each tracepoint; perf's and BPF's stack helpers. A symbol
// that is not known is not.
bool is_glue_symbol(const KernelSymbol& symbol);

// How far an address without a name may stand from the leaf and still be taken for glue.
inline constexpr size_t kGlueReach = 8;

// The number of leading (innermost) frames that are glue. It can be all of them.
//
// An address without a name counts only if a glue frame follows among the first kGlueReach frames, with nothing but
// nameless addresses between: that is the image of a BPF program that was unloaded before it was named. Glue further
// out, under a real frame, belongs to the stack (a BPF scheduler that allocates, say) and stays.
size_t glue_frames(std::span<const KernelSymbol> symbols);

}  // namespace stackmap
