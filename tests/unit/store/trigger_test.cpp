// SPDX-License-Identifier: Apache-2.0
#include "store/trigger.h"

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
bool fires(const std::string& text, uint16_t type, const std::vector<std::pair<std::string, uint64_t>>& values) {
  std::vector<uint64_t> fields(kTypes[type - 1U].fields.size());
  REQUIRE(kTypes[type - 1U].id == type);
  for (const auto& [name, value] : values) {
    fields[kTypes[type - 1U].field(name).value()] = value;
  }
  Event event;
  event.type = type;
  event.fields = fields;
  return parse(text).events().matches(event, "");
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

TEST_CASE("losses and exit codes") {
  const Trigger lost = parse("lost>1000");
  CHECK(lost.on() == Trigger::On::kLost);
  CHECK_FALSE(lost.matches(1000));
  CHECK(lost.matches(1001));
  const Trigger exit = parse("exit!=0");
  CHECK(exit.on() == Trigger::On::kExit);
  CHECK_FALSE(exit.matches(0));
  CHECK(exit.matches(139));
  CHECK(parse("irq:one").events().event_type == 64);
}

TEST_CASE("text that is no trigger is refused, with what is wrong") {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "empty"},
      {"kmem:nothing", "not recorded"},
      {"kmem:mm_page_alloc order", "no condition"},
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
    CHECK(trigger.error().message().starts_with("trigger '" + text + "': "));
    CHECK(trigger.error().message().find(why) != std::string::npos);
  }
}

TEST_CASE("the patterns are those of the triggers on events, and each leads back to its text") {
  Triggers triggers;
  CHECK(triggers.empty());
  for (const char* text : {"lost>10", "kmem:kfree", "exit!=0", "irq:one"}) {
    triggers.add(parse(text));
  }
  const auto patterns = triggers.patterns();
  REQUIRE(patterns.size() == 2);
  CHECK(patterns[0].event_type == kKfree);
  CHECK(patterns[1].event_type == 64);
  CHECK(triggers.text_of_pattern(0) == "kmem:kfree");
  CHECK(triggers.text_of_pattern(1) == "irq:one");
  CHECK(triggers.watch_losses());
  CHECK(triggers.on_exit(0) == std::nullopt);
  CHECK(triggers.on_exit(3) == "exit!=0 (it was 3)");
}

TEST_CASE("losses fire by what was lost since they last did") {
  Triggers triggers;
  triggers.add(parse("lost>10"));
  CHECK(triggers.on_lost(10) == std::nullopt);
  CHECK(triggers.on_lost(11) == "lost>10");
  CHECK(triggers.on_lost(21) == std::nullopt);
  CHECK(triggers.on_lost(22) == "lost>10");
}
