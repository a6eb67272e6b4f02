// SPDX-License-Identifier: Apache-2.0
#include "record/trace_kinds.h"

#include <random>

#include "record/record_decoder.h"
#include "support/catch.h"
#include "support/record_builder.h"

using namespace stackmap;
using stackmap_test::RecordBuilder;

namespace {

// As Linux 6.18 and 5.10 have it: the name became a string that is somewhere else in the record.
const std::string kNewer = R"(name: sched_migrate_task
ID: 371
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:__data_loc char[] comm;	offset:8;	size:4;	signed:0;
	field:pid_t pid;	offset:12;	size:4;	signed:1;
	field:int prio;	offset:16;	size:4;	signed:1;
	field:int orig_cpu;	offset:20;	size:4;	signed:1;
	field:int dest_cpu;	offset:24;	size:4;	signed:1;

print fmt: "comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d", __get_str(comm), REC->pid, REC->prio, REC->orig_cpu, REC->dest_cpu
)";
const std::string kOlder = R"(	field:char comm[16];	offset:8;	size:16;	signed:1;
	field:pid_t pid;	offset:24;	size:4;	signed:1;
	field:int prio;	offset:28;	size:4;	signed:1;
	field:int orig_cpu;	offset:32;	size:4;	signed:1;
	field:int dest_cpu;	offset:36;	size:4;	signed:1;
)";

const TraceKind& migrate() {
  const TraceKind* kind = find_trace_kind("sched", "sched_migrate_task");
  REQUIRE(kind != nullptr);
  return *kind;
}

std::vector<AnyField> fields_at(uint16_t first) {
  const auto at = [&](const char* name, FieldFormat format, int n) {
    return AnyField{{name, format}, static_cast<uint16_t>(first + n * 4), 4, true};
  };
  return {at("pid", FieldFormat::kTid, 0), at("prio", FieldFormat::kSigned, 1), at("orig_cpu", FieldFormat::kSigned, 2),
          at("dest_cpu", FieldFormat::kSigned, 3)};
}

// One field "pid", as this line tells of it.
std::vector<AnyField> only(const std::string& line) {
  return keep_fields(migrate(), line).fields;
}

}  // namespace

TEST_CASE("a row's fields are where this kernel's format file has them") {
  const KeptFields newer = keep_fields(migrate(), kNewer);
  CHECK(newer.fields == fields_at(12));
  CHECK(newer.missing.empty());
  CHECK(keep_fields(migrate(), kOlder).fields == fields_at(24));
  CHECK(find_trace_kind("sched", "sched_switch") == nullptr);
  CHECK(find_trace_kind("kmem", "sched_migrate_task") == nullptr);
}

TEST_CASE("an unsigned field stays one, a pointer is a number") {
  CHECK(only("field:unsigned int prio; offset:8; size:4; signed:0;").at(0).type.format == FieldFormat::kUnsigned);
  CHECK(only("field:void *prio; offset:8; size:8; signed:0;").at(0).size == 8);
  CHECK(only("\tfield:u8 pid;\toffset:8191;\tsize:1;\tsigned:0;\n").at(0).offset == 8191);
}

TEST_CASE("what the kernel does not have as a number is missing") {
  for (const char* line :
       {"", "field:", "field:int pid;", "field:int pid; offset:; size:4; signed:1;", "field:int pid; offset:8; size:4",
        "field:int pid; offset:x; size:4; signed:1;", "field:int pid[1]; offset:8; size:4; signed:1;",
        "field:__data_loc char[] pid; offset:8; size:4; signed:0;", "field:struct x pid; offset:8; size:12; signed:0;",
        "field:int pid; offset:8; size:0; signed:1;", "field:int pid; offset:8; size:3; signed:1;",
        "field:int pid; offset:8; size:18446744073709551616; signed:1;",
        "field:int pid; offset:4; size:4; signed:1;",     // a program does not see it
        "field:int pid; offset:8189; size:4; signed:1;",  // behind the longest record
        "field:int pid; offset:18446744073709551615; size:4; signed:1;", "field:int pidx; offset:8; size:4; signed:1;",
        "name:int pid; offset:8; size:4; signed:1;"}) {
    INFO(line);
    const KeptFields kept = keep_fields(migrate(), line);
    CHECK(kept.fields.empty());
    CHECK(kept.missing == std::vector<std::string>{"pid", "prio", "orig_cpu", "dest_cpu"});
  }
  const KeptFields some = keep_fields(migrate(), kNewer.substr(0, kNewer.find("\tfield:int orig_cpu")));
  CHECK(some.missing == std::vector<std::string>{"orig_cpu", "dest_cpu"});
  CHECK(some.fields.size() == 2);
}

TEST_CASE("any text gives fields inside of a record, or none") {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string text = kNewer;
    for (int flips = 0; flips < 1 + i % 4; ++flips) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    const KeptFields kept = keep_fields(migrate(), text);
    REQUIRE(kept.fields.size() + kept.missing.size() == 4);
    for (const AnyField& field : kept.fields) {
      REQUIRE((field.size >= 1 && field.size <= 8 && field.offset >= 8 && field.offset + field.size <= 8192));
    }
  }
}

TEST_CASE("a record with a tracepoint's own fields: their words, by the kernel's sizes and signs") {
  AnyEvent plain{{"irq", "one"}, {}};
  AnyEvent narrow{{"irq", "two"},
                  {{{"a", FieldFormat::kUnsigned}, 8, 1, false}, {{"b", FieldFormat::kSigned}, 9, 2, true}}};
  AnyEvent migrations{{"sched", "sched_migrate_task"}, keep_fields(migrate(), kNewer).fields};
  RecordDecoder decoder({plain, narrow, migrations});
  Sample sample;
  const auto decode = [&](uint32_t event, std::array<uint64_t, 4> words) {
    stackmap_any_words fields{{event, 0}, {words[0], words[1], words[2], words[3]}};
    return decoder.decode(bytes_of(RecordBuilder(STACKMAP_ANY_FIELDS).fields(fields).stack({1, 2}).bytes()), 0, sample);
  };
  const auto fields = [&] {
    return std::vector<uint64_t>(sample.fields.begin(), sample.fields.begin() + sample.field_count);
  };
  REQUIRE_FALSE(decode(STACKMAP_FIRST_ANY + 2, {4711, 120, 0xffffffff, 3}));
  CHECK(fields() == std::vector<uint64_t>{4711, 120, ~uint64_t{0}, 3});
  CHECK(sample.any_event == kFirstAnyEvent + 2);
  CHECK(sample.subject_tid == 4711);
  CHECK(sample.kernel_stack.frames.size() == 2);
  REQUIRE_FALSE(decode(STACKMAP_FIRST_ANY + 1, {0x1ff, 0x18000, 0, 0}));
  CHECK(fields() == std::vector<uint64_t>{0xff, 0xffffffffffff8000});
  CHECK(sample.subject_tid == 0);

  // Records with fields of events that have none, without them of those that have, and of events that are not there.
  CHECK(decode(STACKMAP_FIRST_ANY, {1, 2, 3, 4}) == Reject::kUnknownKind);
  CHECK(decode(STACKMAP_FIRST_ANY + 3, {1, 2, 3, 4}) == Reject::kUnknownKind);
  CHECK(decode(1, {1, 2, 3, 4}) == Reject::kUnknownKind);
  const auto without = [&](uint32_t event) {
    return decoder.decode(bytes_of(RecordBuilder(STACKMAP_ANY).fields(stackmap_any_fields{event, 0}).bytes()), 0,
                          sample);
  };
  CHECK(without(STACKMAP_FIRST_ANY + 2) == Reject::kUnknownKind);
  CHECK_FALSE(without(STACKMAP_FIRST_ANY));
}
