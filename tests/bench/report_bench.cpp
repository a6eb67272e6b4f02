// SPDX-License-Identifier: Apache-2.0
// Aggregation and the writers, on events made up in memory: what the report costs without reading a capture. The goal
// is 10 million events in 2 s.
#include <benchmark/benchmark.h>

#include <deque>

#include "profile/aggregate.h"
#include "render/flame_svg.h"
#include "render/folded.h"
#include "render/table.h"
#include "support/memory_file.h"

namespace stackmap {

namespace {

using stackmap_test::Sink;

// `stacks` stacks of 24 frames out of 4,000 functions, 200 threads of which 20 change their names.
class MadeUpEvents final : public EventSource {
 public:
  MadeUpEvents(uint64_t events, uint32_t stacks, uint32_t tasks_a_stack) : events_(events), spread_(tasks_a_stack) {
    for (uint32_t i = 0; i < 4000; ++i) {
      symbols_[0x1000 + i] = {"function_number_" + std::to_string(i), 4, 16, ""};
    }
    for (uint32_t i = 0; i < stacks; ++i) {
      std::vector<uint64_t>& frames = stacks_.emplace_back();
      for (uint32_t d = 0; d < 24; ++d) {
        frames.push_back(0x1000 + mix_bits(i / (uint64_t{1} << d) + d * 1000) % 4000);
      }
    }
    for (uint32_t tid = 1; tid <= 200; ++tid) {
      tasks_.add({0, TaskChange::kSeen, tid, tid, 0, "task" + std::to_string(tid % 40)});
      if (tid <= 20) {
        tasks_.add({500, TaskChange::kExec, tid, tid, 0, "other"});
      }
    }
  }
  const std::vector<EventType>& event_types() const override { return known_event_types(); }
  std::string_view string(uint64_t) const override { return "?"; }
  std::span<const uint64_t> stack(Cookie cookie) const override { return stacks_[cookie.slot()]; }
  const KernelSymbol* symbol(uint64_t address) const override { return &symbols_.at(address); }
  std::string symbol_text(uint64_t address) const override { return symbol(address)->text(address); }
  const TaskTable& tasks() const override { return tasks_; }
  uint32_t page_size() const override { return 4096; }
  Result<void> for_each_event(const std::function<bool(const Event&)>& callback) const override {
    const uint64_t fields[] = {0xffff8880, 100, 128, 0xcc0, 0};
    Event event;
    event.type = kKmalloc;
    event.fields = fields;
    event.stack.state = StackRef::State::kCookie;
    for (uint64_t i = 0; i < events_; ++i) {
      const uint64_t random = mix_bits(i);
      event.time_ns = i % 1000;
      const auto stack = static_cast<uint32_t>(random % stacks_.size());
      event.tid = 1 + (stack + static_cast<uint32_t>(random >> 40) % spread_) % 200;
      event.stack.cookie = Cookie(1, stack);
      if (!callback(event)) {
        break;
      }
    }
    return {};
  }

 private:
  uint64_t events_;
  uint32_t spread_;
  std::unordered_map<uint64_t, KernelSymbol> symbols_;
  std::deque<std::vector<uint64_t>> stacks_;
  TaskTable tasks_;
};

// Ten million events; the arguments are the numbers of distinct stacks and of threads that share each of them.
void aggregate_events(benchmark::State& state) {
  const MadeUpEvents source(10'000'000, static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)));
  AggregateOptions options;
  options.weight = find_weight("bytes");
  for (auto unused : state) {
    auto result = aggregate(source, {}, options);
    benchmark::DoNotOptimize(result);
  }
  state.SetItemsProcessed(state.iterations() * 10'000'000);
}
BENCHMARK(aggregate_events)
    ->ArgNames({"stacks", "threads"})
    ->Args({1000, 4})
    ->Args({16384, 4})
    ->Args({16384, 200})
    ->Args({100000, 4})
    ->Unit(benchmark::kMillisecond);

// The argument is the number of distinct stacks.
template <typename Write>
void write_profile(benchmark::State& state, Write write) {
  const MadeUpEvents source(1'000'000, static_cast<uint32_t>(state.range(0)), 4);
  AggregateOptions options;
  options.merge_tasks = true;
  const auto result = aggregate(source, {}, options);
  for (auto unused : state) {
    Sink sink;
    TextWriter out(sink);
    write(*result, out);
    benchmark::DoNotOptimize(out.flush());
  }
}
BENCHMARK_CAPTURE(write_profile, folded, [](const Profile& p, TextWriter& out) { write_folded(p, {}, out); })
    ->Arg(16384)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_profile, flame_svg, [](const Profile& p, TextWriter& out) { write_flame_svg(p, {}, out); })
    ->Arg(16384)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_profile, table, [](const Profile& p, TextWriter& out) { write_table(p, {}, out); })
    ->Arg(16384)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace stackmap

BENCHMARK_MAIN();
