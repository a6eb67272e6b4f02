// SPDX-License-Identifier: Apache-2.0
#include "recorder/trigger.h"

#include <array>

#include "support/catch.h"

using namespace stackmap;

namespace {

const std::vector<EventType> kTypes = [] {
  std::vector<EventType> types = known_event_types();
  types.push_back({64, "irq", "one", {}});
  return types;
}();

Trigger parse(const std::string& text) {
  auto trigger = Trigger::parse(text, kTypes);
  INFO(text);
  REQUIRE(trigger);
  return std::move(trigger).value();
}

// An event of a known type with all fields 0 but these.
bool fires(const std::string& text, uint16_t type, const std::vector<std::pair<std::string, uint64_t>>& values,
           std::string_view string = "") {
  std::vector<uint64_t> fields(kTypes[type - 1U].fields.size());
  REQUIRE(kTypes[type - 1U].id == type);
  for (const auto& [name, value] : values) {
    fields[kTypes[type - 1U].field(name).value()] = value;
  }
  Event event;
  event.type = type;
  event.fields = fields;
  return parse(text).matches(event, string);
}

}  // namespace

TEST_CASE("an event fires a trigger if all conditions hold") {
  CHECK(fires("kmem:mm_page_alloc order>=4", kMmPageAlloc, {{"order", 4}}));
  CHECK_FALSE(fires("kmem:mm_page_alloc order>=4", kMmPageAlloc, {{"order", 3}}));
  CHECK_FALSE(fires("kmem:mm_page_alloc order>=4", kMmPageFree, {{"order", 9}}));
  CHECK(fires("kmem:mm_page_alloc", kMmPageAlloc, {}));
  const std::string both = "kmem:mm_page_alloc order>1 order<4";
  CHECK_FALSE(fires(both, kMmPageAlloc, {{"order", 1}}));
  CHECK(fires(both, kMmPageAlloc, {{"order", 2}}));
  CHECK_FALSE(fires(both, kMmPageAlloc, {{"order", 4}}));
}

TEST_CASE("every comparison is what it says") {
  // For the values 1, 2 and 3 against 2.
  const std::vector<std::pair<std::string, std::array<bool, 3>>> expected = {
      {"=2", {false, true, false}},  {"==2", {false, true, false}}, {"!=2", {true, false, true}},
      {"<2", {true, false, false}},  {"<=2", {true, true, false}},  {">2", {false, false, true}},
      {">=0x2", {false, true, true}}};
  for (const auto& [condition, holds] : expected) {
    for (uint64_t value = 1; value <= 3; ++value) {
      INFO(condition << " for " << value);
      CHECK(fires("kmem:mm_page_alloc order" + condition, kMmPageAlloc, {{"order", value}}) == holds[value - 1]);
    }
  }
}

TEST_CASE("signed fields compare as signed, text as text") {
  CHECK(fires("sched:sched_waking prio<0", kSchedWaking, {{"prio", static_cast<uint64_t>(-5)}}));
  CHECK_FALSE(fires("sched:sched_waking prio>0", kSchedWaking, {{"prio", static_cast<uint64_t>(-5)}}));
  CHECK(fires("sched:sched_waking prio>=-5", kSchedWaking, {{"prio", static_cast<uint64_t>(-5)}}));
  CHECK(fires("kmem:kmem_cache_alloc name=filp", kKmemCacheAlloc, {}, "filp"));
  CHECK_FALSE(fires("kmem:kmem_cache_alloc name=filp", kKmemCacheAlloc, {}, "filp2"));
  CHECK(fires("kmem:kmem_cache_alloc name!=filp", kKmemCacheAlloc, {}, "dentry"));
}

TEST_CASE("losses and exit codes") {
  const Trigger lost = parse("lost>1000");
  CHECK(lost.on() == Trigger::On::kLost);
  CHECK_FALSE(lost.matches(1000));
  CHECK(lost.matches(1001));
  const Trigger exit = parse("exit!=0");
  CHECK(exit.on() == Trigger::On::kExit);
  CHECK_FALSE(exit.matches(0));
  CHECK(exit.matches(139));
  CHECK(parse("irq:one").event_type() == 64);
}

TEST_CASE("text that is no trigger is refused, with what is wrong") {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "empty"},
      {"kmem:nothing", "not recorded"},
      {"kmem:mm_page_alloc order", "no condition"},
      {"kmem:mm_page_alloc >=4", "no condition"},
      {"kmem:mm_page_alloc colour=4", "no field colour"},
      {"kmem:mm_page_alloc order>=four", "not a number"},
      {"kmem:mm_page_alloc order>=", "not a number"},
      {"kmem:mm_page_alloc order>=4x", "not a number"},
      {"kmem:mm_page_alloc order>=99999999999999999999", "not a number"},
      {"kmem:kmem_cache_alloc name>filp", "only be ="},
      {"irq:one cpu=1", "no field cpu"},
      {"lost", "no condition"},
      {"lost>many", "not a number"},
      {"lost>1 exit=1", "behind"},
  };
  for (const auto& [text, why] : bad) {
    INFO(text);
    const auto trigger = Trigger::parse(text, kTypes);
    REQUIRE_FALSE(trigger);
    CHECK(trigger.error().kind == ErrorKind::kUsage);
    CHECK(trigger.error().message().find(why) != std::string::npos);
  }
}
