// SPDX-License-Identifier: Apache-2.0
#include "session/event_selection.h"

#include <algorithm>

#include "support/catch.h"

using namespace stackmap;

namespace {

// What a 6.18 kernel has of these, and a 5.10 one.
std::vector<Tracepoint> kernel(bool old_node_forms) {
  std::vector<Tracepoint> all = {{"irq", "irq_handler_entry"}, {"irq", "irq_handler_exit"}, {"task", "task_rename"}};
  for (const KindInfo& kind : kinds()) {
    if (kind.can_be_asked_for() && (old_node_forms || kind.use != KindUse::kOlderEvent)) {
      all.push_back({std::string(kind.category), std::string(kind.name)});
    }
  }
  return all;
}

size_t count(const EventSelection& selection, std::string_view category) {
  return static_cast<size_t>(std::count_if(selection.kinds.begin(), selection.kinds.end(), [&](KnownEvent kind) {
    return std::ranges::find(kinds(), kind, &KindInfo::kind)->category == category;
  }));
}

std::vector<Tracepoint> tracepoints(const std::vector<AnyEvent>& events) {
  return {events.begin(), events.end()};
}

}  // namespace

TEST_CASE("both groups are the default, on kernels with and without the _node forms") {
  const auto newer = select_events({}, kernel(false));
  REQUIRE(newer);
  CHECK(count(*newer, "kmem") == 6);
  CHECK(count(*newer, "sched") == 7);
  CHECK(newer->any.empty());
  CHECK(newer->missing.empty());
  const auto older = select_events({}, kernel(true));
  CHECK(count(*older, "kmem") == 8);
}

TEST_CASE("what a group lacks is listed, what is named and lacking is an error") {
  auto available = kernel(false);
  std::erase(available, Tracepoint{"kmem", "kfree"});
  const auto group = select_events({"kmem"}, available);
  REQUIRE(group);
  CHECK(group->missing == std::vector<std::string>{"kmem:kfree"});
  const auto named = select_events({"kmem:kfree"}, available);
  REQUIRE_FALSE(named);
  CHECK(named.error().kind == ErrorKind::kUnsupported);
  CHECK(named.error().message().find("kmem:kfree") != std::string::npos);
}

TEST_CASE("globs, lists and repetition") {
  const auto some = select_events({"kmem:*alloc*,irq:*", "kmem:kmalloc"}, kernel(false));
  REQUIRE(some);
  CHECK(some->kinds.size() == 3);  // kmalloc, kmem_cache_alloc, mm_page_alloc
  CHECK(tracepoints(some->any) == std::vector<Tracepoint>{{"irq", "irq_handler_entry"}, {"irq", "irq_handler_exit"}});
  const auto none = select_events({"nothing:*"}, kernel(false));
  REQUIRE_FALSE(none);
  CHECK(none.error().kind == ErrorKind::kUnsupported);
}

TEST_CASE("a tracepoint that feeds the task table can still be recorded for its stack") {
  const auto selection = select_events({"task:task_rename"}, kernel(false));
  REQUIRE(selection);
  CHECK(tracepoints(selection->any) == std::vector<Tracepoint>{{"task", "task_rename"}});
}

TEST_CASE("what is no event is a usage error") {
  for (const char* bad : {"", "foo", ":x", "x:", "kmem,,sched"}) {
    INFO(bad);
    const auto selection = select_events({bad}, kernel(false));
    REQUIRE_FALSE(selection);
    CHECK(selection.error().kind == ErrorKind::kUsage);
  }
}

TEST_CASE("the limit on other tracepoints is said") {
  std::vector<Tracepoint> many;
  for (int i = 0; i < 600; ++i) {
    many.push_back({"x", std::to_string(i)});
  }
  const auto selection = select_events({"x:*"}, many);
  REQUIRE_FALSE(selection);
  CHECK(selection.error().message().find("512") != std::string::npos);
}
