// SPDX-License-Identifier: Apache-2.0
#include "capture/event_condition.h"

#include <array>

#include "support/catch.h"

using namespace stackmap;

namespace {

const EventType& type_of(uint16_t known) {
  return known_event_types()[known - 1U];
}

// Whether it holds for an event of a known type in which all fields are 0 but this one.
bool holds(const std::string& text, uint16_t known, const std::string& field, uint64_t value,
           std::string_view string = "") {
  INFO(text);
  const EventType& type = type_of(known);
  REQUIRE(type.id == known);
  std::vector<uint64_t> fields(type.fields.size());
  fields[type.field(field).value()] = value;
  Event event;
  event.type = known;
  event.fields = fields;
  const auto condition = EventCondition::on_field(text, type);
  REQUIRE(condition);
  return condition->holds(event, string);
}

}  // namespace

TEST_CASE("every comparison is what it says") {
  // For the values 1, 2 and 3 against 2.
  const std::vector<std::pair<std::string, std::array<bool, 3>>> expected = {
      {"=2", {false, true, false}},  {"==2", {false, true, false}}, {"!=2", {true, false, true}},
      {"<2", {true, false, false}},  {"<=2", {true, true, false}},  {">2", {false, false, true}},
      {">=0x2", {false, true, true}}};
  for (const auto& [condition, result] : expected) {
    for (uint64_t value = 1; value <= 3; ++value) {
      INFO(condition << " for " << value);
      CHECK(holds("order" + condition, kMmPageAlloc, "order", value) == result[value - 1]);
      CHECK(EventCondition::on_number("anything" + condition)->holds(value) == result[value - 1]);
    }
  }
}

TEST_CASE("signed fields compare as signed, text as text") {
  const auto minus_five = static_cast<uint64_t>(-5);
  CHECK(holds("prio<0", kSchedWaking, "prio", minus_five));
  CHECK_FALSE(holds("prio>0", kSchedWaking, "prio", minus_five));
  CHECK(holds("prio>=-5", kSchedWaking, "prio", minus_five));
  CHECK(EventCondition::on_number("n>0")->holds(minus_five));
  CHECK(holds("name=filp", kKmemCacheAlloc, "name", 0, "filp"));
  CHECK_FALSE(holds("name=filp", kKmemCacheAlloc, "name", 0, "filp2"));
  CHECK(holds("name!=filp", kKmemCacheAlloc, "name", 0, "dentry"));
}

TEST_CASE("a pattern holds its type and all of its conditions") {
  EventPattern pattern;
  pattern.event_type = kMmPageFree;
  Event event;
  event.type = kMmPageFree;
  const std::vector<uint64_t> fields = {77, 3};  // pfn, order
  event.fields = fields;
  CHECK(pattern.matches(event, ""));
  pattern.conditions.push_back(EventCondition::on_field("order=3", type_of(kMmPageFree)).value());
  CHECK(pattern.matches(event, ""));
  pattern.conditions.push_back(EventCondition::on_field("pfn!=77", type_of(kMmPageFree)).value());
  CHECK_FALSE(pattern.matches(event, ""));
  pattern.conditions.pop_back();
  event.type = kMmPageAlloc;
  CHECK_FALSE(pattern.matches(event, ""));
}

TEST_CASE("an event with fewer fields than its type holds no condition on what it lacks") {
  Event event;
  event.type = kMmPageFree;
  CHECK_FALSE(EventCondition::on_field("order=0", type_of(kMmPageFree))->holds(event, ""));
}

TEST_CASE("text that is no condition is refused, with what is wrong") {
  const std::vector<std::tuple<std::string, uint16_t, std::string>> bad = {
      {"order", kMmPageAlloc, "no condition"},
      {">=4", kMmPageAlloc, "no condition"},
      {"order!4", kMmPageAlloc, "no condition"},
      {"colour=4", kMmPageAlloc, "no field colour; it has pfn, order, migratetype, gfp_flags"},
      {"order>=four", kMmPageAlloc, "not a number"},
      {"order>=", kMmPageAlloc, "not a number"},
      {"order>=4x", kMmPageAlloc, "not a number"},
      {"order>=99999999999999999999", kMmPageAlloc, "not a number"},
      {"name>filp", kKmemCacheAlloc, "only be ="},
  };
  for (const auto& [text, known, why] : bad) {
    INFO(text);
    const auto condition = EventCondition::on_field(text, type_of(known));
    REQUIRE_FALSE(condition);
    CHECK(condition.error().kind == ErrorKind::kUsage);
    CHECK(condition.error().message().find(why) != std::string::npos);
  }
}
