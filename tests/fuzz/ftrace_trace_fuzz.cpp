// SPDX-License-Identifier: Apache-2.0
// Any text as a trace, with a map behind a line of "%%%" in it: no crash, and the capture that is made of it is whole
// and holds as many events as were counted.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "capture/capture.h"
#include "fuzz/allocation_bound.h"
#include "import/ftrace_import.h"
#include "support/faulty_file.h"

using namespace stackmap;

namespace {

Result<FtraceImport> read_within_bound(const NamedText& trace, std::span<const NamedText> maps, size_t size) {
  const stackmap_test::AllocationBound bound(FtraceImport::kMemoryBase + FtraceImport::kMemoryFactor * size);
  return FtraceImport::read(trace, maps);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t mark = text.find("%%%\n");
  const NamedText trace{"trace", text.substr(0, mark)};
  const NamedText maps[] = {{"map", mark == std::string::npos ? "" : text.substr(mark + 4)}};
  const auto import = read_within_bound(trace, maps, size);
  if (!import) {
    return 0;
  }
  auto disk = std::make_shared<stackmap_test::Disk>();
  if (!import->write(std::make_unique<stackmap_test::FaultyFile>(disk), {})) {
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
  const ImportCounts& counts = import->counts();
  if (capture->damage().any() || events != counts.events ||
      unresolved != counts.stale_cookies + counts.unknown_cookies) {
    std::abort();
  }
  return 0;
}
