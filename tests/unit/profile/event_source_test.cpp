// SPDX-License-Identifier: Apache-2.0
#include "profile/event_source.h"

#include "capture/capture_writer.h"
#include "profile/aggregate.h"
#include "support/catch.h"
#include "support/memory_file.h"
#include "support/report_fixture.h"

namespace stackmap {

TEST_CASE("a capture that was written is aggregated as it was meant", "[event_source]") {
  const auto bytes = std::make_shared<std::string>();
  CaptureInfo info;
  info.host.page_size = 16384;
  auto writer =
      CaptureWriter::create(std::make_unique<stackmap_test::MemoryFile>(bytes), info, known_event_types(), {});
  REQUIRE(writer.ok());
  CaptureWriter& capture = **writer;
  capture.add_task({0, TaskChange::kSeen, 5, 5, 1, "bash"});
  const std::vector<uint64_t> frames = {0x10, 0x20};
  capture.add_stack(Cookie(1, 3), frames);
  capture.add_symbol(0x10, {"leaf", 1, 2, ""});
  capture.add_symbol(0x20, {"root", 1, 2, "mod"});
  Event event;
  event.time_ns = 1000;
  event.tid = 5;
  event.type = kMmPageAlloc;
  event.stack.state = StackRef::State::kCookie;
  event.stack.cookie = Cookie(1, 3);
  const std::vector<uint64_t> fields = {77, 1, 0, 0};
  event.fields = fields;
  REQUIRE(capture.add_event(event).ok());
  REQUIRE(capture.close(Ledger()).ok());

  const auto read = Capture::open(memory_file(*bytes, "memory"));
  REQUIRE(read.ok());
  const CaptureSource source(*read);
  CHECK(source.page_size() == 16384);
  CHECK(source.symbol_text(0x20) == "root+0x1/0x2 [mod]");
  CHECK(source.symbol_text(0x999) == "0x999");
  const auto result = aggregate(source, {}, {.weight = find_weight("bytes")});
  REQUIRE(result.ok());
  REQUIRE(result->size() == 1);
  const auto sample = result->sample(0);
  CHECK(sample.values[0] == 32768);
  REQUIRE(sample.frames.size() == 3);
  CHECK(result->frame(sample.frames[0]).name == "bash");
  CHECK(result->frame(sample.frames[1]).name == "root");
  CHECK(result->frame(sample.frames[2]).name == "leaf");
}

}  // namespace stackmap
