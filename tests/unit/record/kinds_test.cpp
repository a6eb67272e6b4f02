// SPDX-License-Identifier: Apache-2.0
#include "record/kinds.h"

#include <algorithm>

#include "support/catch.h"

using namespace stackmap;

TEST_CASE("every kind has a name, and a name finds its kind") {
  CHECK(kinds().size() == 16);
  for (const KindInfo& kind : kinds()) {
    CHECK(find_kind(kind.category, kind.name) == &kind);
    CHECK(record_layout(kind.kind).bytes() == kind.layout.bytes());
  }
  CHECK(find_kind("kmem", "no_such") == nullptr);
}

TEST_CASE("a kind that can be asked for is the event type of its number: name for name, field for field") {
  size_t events = 0;
  for (const KindInfo& kind : kinds()) {
    if (!kind.can_be_asked_for()) {
      continue;
    }
    ++events;
    const auto type = std::ranges::find(known_event_types(), kind.kind, &EventType::id);
    REQUIRE(type != known_event_types().end());
    CHECK(type->category == kind.category);
    CHECK(type->name == kind.name);
    REQUIRE(type->fields.size() == kind.layout.field_count());
    for (size_t i = 0; i < type->fields.size(); ++i) {
      INFO(type->full_name() << " " << type->fields[i].name);
      const FieldRole role = kind.layout.field(i).role;
      CHECK((type->fields[i].format == FieldFormat::kString) == (role == FieldRole::kString));
      CHECK((type->fields[i].format == FieldFormat::kSigned) == (role == FieldRole::kSigned));
      // Whom an event is about is named by the task table; the life of a task tells of it by itself.
      if (role == FieldRole::kSubject) {
        CHECK(type->fields[i].format == FieldFormat::kTid);
      }
    }
  }
  CHECK(events == known_event_types().size());
}

TEST_CASE("numbers that are no kind have no fields") {
  for (const uint32_t number : {0U, 17U, 28U, uint32_t{kBatch}, kFirstAnyEvent, 200U, UINT32_MAX}) {
    CHECK(record_layout(number).bytes() == 0);
    CHECK_FALSE(record_layout(number).is_cached());
  }
}

TEST_CASE("a layout that does not fit a record, or a batch's entry, is not sound") {
  using Layout = RecordLayout;
  const FieldPlace word = {0, 8, FieldRole::kUnsigned};
  CHECK(Layout(8, 8, {word}).is_sound());
  CHECK_FALSE(Layout(4, 0, {}).is_sound());                                        // not a multiple of 8
  CHECK_FALSE(Layout(48, Layout::kNotCached, {}).is_sound());                      // more than a record has
  CHECK_FALSE(Layout(8, 0, {FieldPlace{4, 8, FieldRole::kUnsigned}}).is_sound());  // ends behind the fields
  CHECK_FALSE(Layout(16, Layout::kNotCached, {FieldPlace{4, 8, FieldRole::kUnsigned}}).is_sound());  // in two words
  CHECK_FALSE(Layout(16, 16, {word}).is_sound());                                   // two words in an entry
  CHECK_FALSE(Layout(32, 8, {word}).is_sound());                                    // three in a template
  CHECK_FALSE(Layout(16, 8, {FieldPlace{6, 4, FieldRole::kUnsigned}}).is_sound());  // in both
}

TEST_CASE("fields of every size and sign, by bytes") {
  std::array<std::byte, 16> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(0xf0 + i);
  }
  const RecordLayout layout(16, 8,
                            {{0, 1, FieldRole::kUnsigned},
                             {1, 2, FieldRole::kSigned},
                             {4, 4, FieldRole::kSubject},
                             {0, 0, FieldRole::kString},
                             {8, 8, FieldRole::kUnsigned},
                             {12, 4, FieldRole::kSigned}});
  REQUIRE(layout.is_sound());
  const std::array<uint64_t, 6> expected = {0xf0, 0xfffffffffffff2f1, 0xf7f6f5f4,
                                            0,    0xfffefdfcfbfaf9f8, 0xfffffffffffefdfc};
  std::array<uint64_t, 6> fields{};
  layout.read(bytes.data(), fields);
  CHECK(fields == expected);
  CHECK(layout.subject(fields) == 0xf7f6f5f4);
  CHECK(layout.string_field() == 3);
  // The word of a batch's entry has the first three.
  std::array<uint64_t, 6> dynamic = {1, 2, 3, 4, 5, 6};
  layout.read_dynamic(0xf7f6f5f4f3f2f1f0, dynamic);
  CHECK(dynamic == std::array<uint64_t, 6>{expected[0], expected[1], expected[2], 4, 5, 6});
}
