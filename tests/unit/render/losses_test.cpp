// SPDX-License-Identifier: Apache-2.0
#include "render/losses.h"

#include "support/catch.h"
#include "support/faulty_file.h"
#include "support/lossy_recording.h"
#include "support/report_fixture.h"

namespace stackmap {

namespace {

std::string losses(const Ledger& ledger) {
  return test::written([&](TextWriter& out) { write_losses(ledger, out); });
}

// hits = filtered + sent + the four kinds of loss, and two of what was sent were not understood, as FORMAT.md has it.
Ledger two_events() {
  Ledger ledger;
  ledger.set("event.kmem:kmalloc.hits", 1000);
  ledger.set("event.kmem:kmalloc.filtered", 100);
  ledger.set("event.kmem:kmalloc.sent", 880);
  ledger.set("event.kmem:kmalloc.ring_full", 10);
  ledger.set("event.kmem:kmalloc.output_error", 1);
  ledger.set("event.kmem:kmalloc.scratch_busy", 4);
  ledger.set("event.kmem:kmalloc.recursion_misses", 5);
  ledger.set("event.kmem:kmalloc.recorded", 878);
  ledger.set("event.sched:sched_switch.hits", 2000);
  ledger.set("event.sched:sched_switch.sent", 2000);
  ledger.set("event.sched:sched_switch.task_records", 50);
  ledger.set("reject.bad_size", 2);
  return ledger;
}

}  // namespace

TEST_CASE("what is lost, and of how many", "[losses]") {
  CHECK(one_line_summary(two_events()) ==
        "lost 22 of 2,850 events: 10 ring full, 4 scratch busy, 5 missed (recursion), 1 output error, 2 not decoded");
}

TEST_CASE("the recorder's own ledger: each loss is told once, and no counter is unknown", "[losses]") {
  stackmap_test::LossyRecording recording(
      std::make_unique<stackmap_test::FaultyFile>(std::make_shared<stackmap_test::Disk>()));
  recording.play();
  const std::string text = losses(recording.ledger());
  CHECK(
      text.find("lost 650,239 of 650,253 events: 200 ring full, 4 scratch busy, 600,000 missed (recursion), 30 output "
                "error, 50,000 throttled (--max-cpu), 5 not decoded\n") == 0);
  for (const char* reason : {"too_short", "unknown_kind", "bad_size", "bad_string", "unknown_template"}) {
    CHECK(text.find(std::string("1  samples that could not be decoded: ") + reason + " (among those above)\n") !=
          std::string::npos);
  }
  CHECK(text.find("other counters") == std::string::npos);
}

TEST_CASE("filtered events, fallbacks and stack errors are no losses", "[losses]") {
  Ledger ledger;
  ledger.set("event.kmem:kfree.hits", 1234567);
  ledger.set("event.kmem:kfree.sent", 1234567);
  ledger.set("fallback.full", 9);
  ledger.set("stack.error.EFAULT", 9);
  ledger.set("ring.lost.cpu3", 9);  // the ring's own word for what ring_full counts
  CHECK(one_line_summary(ledger) == "lost 0 of 1,234,567 events");
  ledger.set("event.kmem:kfree.filtered", 1234566);
  CHECK(one_line_summary(ledger) == "lost 0 of 1 event");
}

TEST_CASE("an empty ledger claims nothing", "[losses]") {
  CHECK(one_line_summary(Ledger()) == "what was lost is not known");
}

TEST_CASE("the table has a row an event, and a sum", "[losses]") {
  CHECK(losses(two_events()) ==
        "lost 22 of 2,850 events: 10 ring full, 4 scratch busy, 5 missed (recursion), 1 output error, 2 not decoded\n"
        "\n"
        "event                hits  filtered   sent  ring full  busy  missed  other\n"
        "kmem:kmalloc        1,000       100    880         10     4       5      1\n"
        "sched:sched_switch  2,000         0  2,000          0     0       0      0\n"
        "sum                 3,000       100  2,880         10     4       5      1\n"
        "\n"
        "           2  samples that could not be decoded: bad_size (among those above)\n");
}

TEST_CASE("an imported capture tells what its trace says", "[losses]") {
  Ledger ledger;
  ledger.set("import.events", 9);
  ledger.set("import.lost_events", 1234);
  ledger.set("import.stale_cookies", 2);
  ledger.set("import.overwritten", 0);
  CHECK(one_line_summary(ledger) == "the trace says that 1,234 of its events were lost");
  const std::string text = test::written([&](TextWriter& out) { write_losses(ledger, out); });
  CHECK(text.find("\n           2  events whose cookie is of a generation that no imported stack_map is of\n") !=
        std::string::npos);
  CHECK(text.find("overwritten") == std::string::npos);
  CHECK(text.find("other counters") == std::string::npos);
}

TEST_CASE("a copy tells what was lost before it and what it leaves out", "[losses]") {
  Ledger ledger;
  for (const char* name : {"events_lost", "stacks_missing", "strings_missing", "bad_blocks", "missing_blocks",
                           "skipped_bytes", "torn_bytes", "unfinished_files", "missing_segments"}) {
    ledger.set(std::string("recover.") + name, 1);
  }
  ledger.set("copy.left_out", 1234);
  const std::string text = test::written([&](TextWriter& out) { write_losses(ledger, out); });
  CHECK(text.find("1  events that were in damaged or missing blocks when the capture was recovered\n") !=
        std::string::npos);
  CHECK(text.find("1,234  events of other times, which this copy leaves out\n") != std::string::npos);
  CHECK(text.find("other counters") == std::string::npos);
}

TEST_CASE("the rest is in words where it is not nought, and unknown names are kept", "[losses]") {
  Ledger ledger;
  ledger.set("event.any.hits", 5);
  ledger.set("event.any.sent", 5);
  ledger.set("stack.truncated", 0);
  ledger.set("stack.error.EFAULT", 1500);
  ledger.set("fallback.too_deep", 3);
  ledger.set("ring.lost.cpu12", 4);
  ledger.set("reject.bad_size", 6);
  ledger.set("map.generation", 3);
  ledger.set("map.entries", 1234);
  ledger.set("map.capacity", 16384);
  ledger.set("map.successes", 5000);
  ledger.set("map.fallbacks", 7);
  ledger.set("map.fallbacks_full", 7);
  ledger.set("event.any.new_counter", 8);
  ledger.set("future.thing", 0);
  ledger.set("event.hits", 2);
  const std::string text = losses(ledger);
  CHECK(text.find("stack map: generation 3, 1,234 of 16,384 stacks, 5,000 cookies given, 7 fallbacks\n") !=
        std::string::npos);
  CHECK(text.find("1,500  events whose stack the kernel could not walk (EFAULT)") != std::string::npos);
  CHECK(text.find("deeper than the kernel") == std::string::npos);  // nought
  CHECK(text.find("3  stacks recorded in full because they are deeper than the map takes\n") != std::string::npos);
  CHECK(text.find("4  records that the ring of CPU 12 says it dropped") != std::string::npos);
  CHECK(text.find("6  samples that could not be decoded: bad_size") != std::string::npos);
  const size_t other = text.find("other counters:\n");
  REQUIRE(other != std::string::npos);
  CHECK(text.find("8  event.any.new_counter\n", other) != std::string::npos);
  CHECK(text.find("0  future.thing\n", other) != std::string::npos);
  CHECK(text.find("2  event.hits\n", other) != std::string::npos);
  CHECK(text.find("any", text.find("event ")) < other);
  CHECK(text.find("fallbacks_full") == std::string::npos);
}

TEST_CASE("the cookie cache has a line of its own and is no loss") {
  Ledger ledger;
  ledger.set("event.kmem:kfree.hits", 2000);
  ledger.set("event.kmem:kfree.sent", 2000);
  ledger.set("event.kmem:kfree.batched", 1500);
  ledger.set("ring.bytes", 3 << 20);
  ledger.set("cache.published", 20);
  ledger.set("cache.replaced", 3);
  ledger.set("cache.hits", 1500);
  const std::string text = losses(ledger);
  CHECK(text.find("lost 0 of 2,000 events") == 0);
  CHECK(text.find("cookie cache: 1,500 events sent by cookie, 20 templates published, 3 of them") != std::string::npos);
  CHECK(text.find("other counters") == std::string::npos);
  CHECK(text.find("\nrings: 3.0 MiB read\n") != std::string::npos);
}

}  // namespace stackmap
