// SPDX-License-Identifier: Apache-2.0
// Any text as one line of a trace: what is read of it lies inside it, and nothing is allocated.
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "fuzz/allocation_bound.h"
#include "import/ftrace_line.h"

using namespace stackmap;

namespace {

void require_inside(std::string_view line, std::string_view part) {
  const std::less_equal<const char*> not_behind;
  if (!part.empty() &&
      !(not_behind(line.data(), part.data()) && not_behind(part.data() + part.size(), line.data() + line.size()))) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view text = input.substr(0, input.find('\n'));
  const stackmap_test::AllocationBound bound(0);
  const TraceLine line = parse_trace_line(text);
  require_inside(text, line.text);
  require_inside(text, line.comm);
  const EventText parts = split_event_text(line.text);
  require_inside(text, parts.name);
  require_inside(text, parts.text);
  if (line.level > 3 || (line.kind == TraceLine::Kind::kCookie && line.cookie.slot() > kMaxImportSlot)) {
    std::abort();
  }
  return 0;
}
