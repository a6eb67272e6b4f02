// SPDX-License-Identifier: Apache-2.0
// The door for weights, with two made-up ones: a value that a later event tells, and values that are known at the end.
#include "profile/weights/weight.h"

#include <map>
#include <set>

#include "profile/aggregate.h"
#include "support/catch.h"
#include "support/report_fixture.h"

namespace stackmap {

namespace {

// From a thread's kfree to the next event that names the thread in its first field: under the stack of the kfree.
class WaitWeight final : public Weight {
 public:
  void take(const Event& event, WeightSink& sink) override {
    end(event, sink);
    if (event.type == kKfree) {
      began_[event.tid] = {sink.key(event), event.time_ns};
    }
  }
  void pass(const Event& event, WeightSink& sink) override { end(event, sink); }
  std::vector<std::string> notes() const override { return {"still waiting: " + std::to_string(began_.size())}; }

 private:
  void end(const Event& event, WeightSink& sink) {
    const auto found = event.type == kSchedWaking ? began_.find(static_cast<uint32_t>(event.fields[0])) : began_.end();
    if (found != began_.end()) {
      sink.add(found->second.first, event.time_ns - found->second.second);
      began_.erase(found);
    }
  }
  std::map<uint32_t, std::pair<StackKey, uint64_t>> began_;
};

// Allocations that are not freed, at the end.
class LiveWeight final : public Weight {
 public:
  void take(const Event& event, WeightSink& sink) override {
    if (event.type == kKmalloc) {
      live_[event.fields[0]] = {sink.key(event), event.fields[2]};
    } else {
      pass(event, sink);
    }
  }
  void pass(const Event& event, WeightSink& /*sink*/) override {
    if (event.type == kKfree) {
      live_.erase(event.fields[0]);
    }
  }
  void finish(WeightSink& sink) override {
    for (const auto& [pointer, allocation] : live_) {
      sink.add(allocation.first, allocation.second);
    }
  }

 private:
  std::map<uint64_t, std::pair<StackKey, uint64_t>> live_;
};

constexpr WeightInfo kWait = {"wait", Unit::kBytes, "", [](const EventSource&) -> std::unique_ptr<Weight> {
                                return std::make_unique<WaitWeight>();
                              }};
constexpr WeightInfo kLive = {"live", Unit::kBytes, "", [](const EventSource&) -> std::unique_ptr<Weight> {
                                return std::make_unique<LiveWeight>();
                              }};

// "task;frame" -> value, count
std::map<std::string, std::vector<uint64_t>> run(const test::FakeEvents& source, const WeightInfo& weight,
                                                 const Filter& filter = {}) {
  const auto profile = aggregate(source, filter, {.weight = &weight});
  REQUIRE(profile.ok());
  CHECK(profile->columns()[0].name == weight.name);
  CHECK(profile->columns()[1].name == "count");
  std::map<std::string, std::vector<uint64_t>> stacks;
  for (size_t i = 0; i < profile->size(); ++i) {
    const auto sample = profile->sample(i);
    stacks[profile->frame(sample.frames.front()).name + ";" + profile->frame(sample.frames.back()).name] = {
        sample.values.begin(), sample.values.end()};
  }
  return stacks;
}

}  // namespace

TEST_CASE("a value that a later event tells is under the stack and task of the earlier one", "[weight]") {
  test::FakeEvents source;
  source.task(1, "waiter");
  source.task(2, "waker");
  source.symbols[0x10] = {"wait_here", 4, 16, ""};
  source.symbols[0x20] = {"wait_there", 4, 16, ""};
  source.symbols[0x30] = {"wake", 4, 16, ""};
  source.stacks[Cookie(1, 1)] = {0x10};
  const StackRef wake = source.fallback({0x30});
  source.add(kKfree, {1}, source.cookie(1, 1), 1, 100);
  source.add(kSchedWaking, {1, 0, 0, 0}, wake, 2, 130);
  source.add(kKfree, {1}, source.fallback({0x20}), 1, 200);
  source.add(kSchedWaking, {1, 0, 0, 0}, wake, 2, 205);
  source.add(kKfree, {1}, source.cookie(1, 1), 1, 300);
  source.add(kSchedWaking, {1, 0, 0, 0}, wake, 2, 301);
  source.add(kKfree, {1}, source.cookie(1, 1), 1, 400);
  const std::map<std::string, std::vector<uint64_t>> expected = {{"waiter;wait_here", {31, 2}},
                                                                 {"waiter;wait_there", {5, 1}}};
  CHECK(run(source, kWait) == expected);
  // An event that the filter refuses ends what an accepted one began.
  CHECK(run(source, kWait, {.comms = {"waiter"}}) == expected);
  CHECK(run(source, kWait, {.comms = {"waker"}}).empty());
  CHECK(aggregate(source, {}, {.weight = &kWait})->notes == std::vector<std::string>{"still waiting: 1"});
}

TEST_CASE("what is known at the end is added then", "[weight]") {
  test::FakeEvents source;
  source.task(1, "a");
  source.task(2, "b");
  source.symbols[0x10] = {"leak", 4, 16, ""};
  source.symbols[0x20] = {"tidy", 4, 16, ""};
  source.add(kKmalloc, {0x1000, 10, 16, 0, 0}, source.fallback({0x10}), 1);
  source.add(kKmalloc, {0x2000, 20, 32, 0, 0}, source.fallback({0x20}), 1);
  source.add(kKmalloc, {0x3000, 60, 64, 0, 0}, source.fallback({0x10}), 1);
  source.add(kKmalloc, {0x4000, 60, 64, 0, 0}, source.fallback({0x10}), 2);
  source.add(kKfree, {0x2000}, {}, 2);  // another thread frees it
  const std::map<std::string, std::vector<uint64_t>> of_a = {{"a;leak", {80, 2}}};
  CHECK(run(source, kLive, {.tids = {1}}) == of_a);
  CHECK(run(source, kLive).at("b;leak") == std::vector<uint64_t>{64, 1});
}

TEST_CASE("every weight has a name of its own, and the default is count", "[weight]") {
  std::set<std::string_view> names;
  for (const WeightInfo* weight : weights()) {
    CHECK(names.insert(weight->name).second);
    CHECK(find_weight(weight->name) == weight);
    CHECK_FALSE(weight->help.empty());
  }
  CHECK(weights().front()->name == "count");
  CHECK(find_weight("nope") == nullptr);
}

}  // namespace stackmap
