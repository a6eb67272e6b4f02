// SPDX-License-Identifier: Apache-2.0
// Any text as a kernel symbol: no crash, and what was read from it is printed and read back the same.
// The bound is four times that of one symbol: two are made, and one is printed.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzz/allocation_bound.h"
#include "process/kernel_symbol.h"
#include "symbolize/glue_frames.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const stackmap_test::AllocationBound bound(4 * (256 + stackmap::kSymbolMemoryFactor * size));
  const stackmap::KernelSymbol symbol = stackmap::parse_kernel_symbol(text);
  (void)stackmap::is_glue_symbol(symbol);
  if (!symbol.known()) {
    return symbol == stackmap::KernelSymbol{} ? 0 : (std::abort(), 0);
  }
  const std::string printed = symbol.text(0);
  if (stackmap::parse_kernel_symbol(printed) != symbol || !text.starts_with(symbol.name)) {
    std::abort();
  }
  return 0;
}
