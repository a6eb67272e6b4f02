// SPDX-License-Identifier: Apache-2.0
#include "record/program_counters.h"

#include <set>

#include "bpf/stackmap_record.h"
#include "support/catch.h"

using namespace stackmap;

namespace {

ProgramCounters decoded(const stackmap_counters& counters) {
  return decode_counters(std::as_bytes(std::span(&counters, 1)));
}

}  // namespace

TEST_CASE("what ended in a batch is counted by how the batch ended, and every run once in the total") {
  stackmap_counters sent{};
  sent.filtered = 1;
  sent.sent = 10;
  sent.ring_full = 100;
  sent.output_error = 1000;
  sent.scratch_busy = 10000;
  sent.batched = 100000;
  sent.batch_full = 1000000;
  sent.batch_error = 10000000;
  sent.throttled = 100000000;
  ProgramCounters counters = decoded(sent);
  CHECK(counters.filtered == 1);
  CHECK(counters.sent == 100010);
  CHECK(counters.batched == 100000);
  CHECK(counters.ring_full == 1000100);
  CHECK(counters.output_error == 10001000);
  CHECK(counters.scratch_busy == 10000);
  CHECK(counters.throttled == 100000000);
  CHECK(counters.total() == 111111111);
  counters += decoded(sent);
  CHECK(counters.total() == 222222222);
  CHECK(counters.batched == 200000);
}

TEST_CASE("every counter has a row, with a name and a member of its own") {
  std::set<std::string_view> names;
  ProgramCounters counters;
  for (const ProgramCounterInfo& info : program_counters()) {
    names.insert(info.name);
    CHECK(counters.*info.member == 0);
    counters.*info.member = 1;
  }
  CHECK(names.size() == program_counters().size());
  CHECK(names.size() * sizeof(uint64_t) == sizeof(counters));
}
