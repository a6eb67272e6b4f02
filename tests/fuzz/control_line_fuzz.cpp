// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a client of the control socket sends. Byte 0 is the length of the pieces in which it arrives: what
// is understood does not depend on it.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzz/allocation_bound.h"
#include "session/control_line.h"

using namespace stackmap;

namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const size_t step = size_t{1} + data[0];
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  ControlLine line;
  ControlLine::State state = ControlLine::State::kPartial;
  {
    const stackmap_test::AllocationBound bound(ControlLine::kMemory);
    for (size_t at = 0; at < text.size(); at += step) {
      state = line.feed(text.substr(at, step));
    }
  }
  const size_t end = text.find('\n');
  if (end != std::string_view::npos && end <= kMaxControlLine) {
    require(state == ControlLine::State::kWhole && line.text() == text.substr(0, end));
    const auto command = parse_control_command(line.text());
    require(!command || text.substr(0, end).find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string_view::npos);
  } else {
    require(state == (text.size() > kMaxControlLine ? ControlLine::State::kTooLong : ControlLine::State::kPartial));
  }
  return 0;
}
