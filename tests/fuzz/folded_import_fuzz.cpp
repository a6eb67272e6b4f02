// SPDX-License-Identifier: Apache-2.0
// Any text as folded stacks: no crash, the capture that is made of it is whole, and what is exported from it comes back
// from another import and export as it is.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "capture/capture.h"
#include "fuzz/allocation_bound.h"
#include "import/imports.h"
#include "profile/aggregate.h"
#include "render/folded.h"
#include "support/faulty_file.h"
#include "support/report_fixture.h"

using namespace stackmap;

namespace {

Result<Import> read_within_bound(const ImportInput& input) {
  const ImportFormat& format = *find_import_format("folded");
  const stackmap_test::AllocationBound bound(format.memory_base + format.memory_factor * input.file.text.size());
  return format.read(input);
}

// What `export` writes of the import of a text; "" where it has no stacks.
std::string exported(const std::string& text) {
  const ImportInput input{{"folded", text}, {}};
  const auto import = read_within_bound(input);
  if (!import) {
    return "";
  }
  auto disk = std::make_shared<stackmap_test::Disk>();
  if (!import->capture.write(std::make_unique<stackmap_test::FaultyFile>(disk), {})) {
    std::abort();
  }
  const auto capture = Capture::open(memory_file(std::move(disk->bytes), "fuzz"));
  if (!capture || capture->damage().any()) {
    std::abort();
  }
  const auto made = aggregate(CaptureSource(*capture), {}, {});
  if (!made || capture->event_count() != import->capture.ledger().get("import.events")) {
    std::abort();
  }
  for (FrameId id = 0; id < made->frame_count(); ++id) {
    if (made->frame(id).kind == FrameKind::kBucket) {
      std::abort();  // a stack is missing
    }
  }
  return test::written([&](TextWriter& out) { (void)write_folded(*made, {}, out); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string once = exported(std::string(reinterpret_cast<const char*>(data), size));
  if (exported(once) != once) {
    std::abort();
  }
  return 0;
}
