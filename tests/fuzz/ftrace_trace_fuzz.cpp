// SPDX-License-Identifier: Apache-2.0
// Any text as a trace, with a map behind a line of "%%%" in it: no crash, and the capture that is made of it is whole
// and holds as many events as were counted.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "capture/capture.h"
#include "fuzz/allocation_bound.h"
#include "import/imports.h"
#include "support/faulty_file.h"

using namespace stackmap;

namespace {

Result<Import> read_within_bound(const ImportFormat& format, const ImportInput& input, size_t size) {
  const stackmap_test::AllocationBound bound(format.memory_base + format.memory_factor * size);
  return format.read(input);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t mark = text.find("%%%\n");
  const ImportInput input{{"trace", text.substr(0, mark)},
                          {{"map", mark == std::string::npos ? "" : text.substr(mark + 4)}}};
  const auto import = read_within_bound(*find_import_format("ftrace"), input, size);
  if (!import) {
    return 0;
  }
  auto disk = std::make_shared<stackmap_test::Disk>();
  if (!import->capture.write(std::make_unique<stackmap_test::FaultyFile>(disk), {})) {
    std::abort();
  }
  const auto capture = Capture::open(memory_file(std::move(disk->bytes), "fuzz"));
  uint64_t events = 0;
  uint64_t unresolved = 0;
  if (!capture || !capture->for_each_event([&](const Event& event) {
        ++events;
        bool held = event.stack.state != StackRef::State::kCookie;
        for (const CapturedStack& stack : held ? std::vector<CapturedStack>() : capture->stacks()) {
          held = held || stack.cookie == event.stack.cookie;
        }
        unresolved += held ? 0U : 1U;
        return true;
      })) {
    std::abort();
  }
  const Ledger& ledger = import->capture.ledger();
  if (capture->damage().any() || events != ledger.get("import.events") ||
      unresolved != ledger.get("import.stale_cookies") + ledger.get("import.unknown_cookies")) {
    std::abort();
  }
  return 0;
}
