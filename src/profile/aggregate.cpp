// SPDX-License-Identifier: Apache-2.0
#include "profile/aggregate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "profile/byte_weights.h"
#include "profile/event_repeats.h"
#include "profile/stack_counts.h"

namespace stackmap {

namespace {

// Turns what was counted into the samples of a profile.
class Resolver {
 public:
  Resolver(const EventSource& source, const SequenceTable<uint64_t>& fallbacks, const AggregateOptions& options,
           Aggregate& result)
      : source_(source), fallbacks_(fallbacks), options_(options), result_(result) {}

  void add(std::vector<StackCounts::Entry> entries, const TaskNames& names) {
    std::ranges::sort(entries, {}, [](const auto& e) { return std::tuple(e.kind, e.stack, e.comm); });
    for (size_t i = 0; i < entries.size(); ++i) {
      const auto& entry = entries[i];
      if (i == 0 || entry.kind != entries[i - 1].kind || entry.stack != entries[i - 1].stack) {
        resolve(entry);
      }
      *counter_ += entry.count;
      if (!options_.merge_tasks) {
        frames_[0] = result_.profile.frame(names.comm(entry.comm), FrameKind::kTask);
      }
      result_.profile.add(frames_, entry.value, entry.count);
    }
  }

 private:
  void resolve(const StackCounts::Entry& entry) {
    frames_.assign(options_.merge_tasks ? 0 : 1, 0);
    AggregateTotals& totals = result_.totals;
    switch (entry.kind) {
      case StackCounts::Kind::kNone:
        counter_ = &totals.no_stack;
        bucket("[no stack]");
        break;
      case StackCounts::Kind::kError:
        counter_ = &totals.stack_errors;
        bucket(fmt::format("[stack error {}]", errno_name(static_cast<int>(entry.stack))));
        break;
      case StackCounts::Kind::kFallback:
        counter_ = &totals.fallbacks;
        stack(fallbacks_.at(entry.stack));
        break;
      case StackCounts::Kind::kCookie: {
        const Cookie cookie = Cookie::from_value(entry.stack);
        const auto frames = source_.stack(cookie);
        counter_ = frames.empty() ? &totals.missing_stacks : &totals.cookies;
        if (frames.empty()) {
          bucket(fmt::format("[stack {} gen {} not in the capture]", cookie.slot(), cookie.generation()));
        } else {
          stack(frames);
        }
        break;
      }
    }
  }

  void bucket(std::string_view name) { frames_.push_back(result_.profile.frame(name, FrameKind::kBucket)); }

  void stack(std::span<const uint64_t> addresses) {
    if (addresses.empty()) {
      bucket("[empty stack]");
    }
    for (size_t i = addresses.size(); i-- > 0;) {
      frames_.push_back(frame(addresses[i]));
    }
  }

  FrameId frame(uint64_t address) {
    const auto [found, added] = by_address_.try_emplace(address, 0);
    if (added) {
      const KernelSymbol* symbol = source_.symbol(address);
      std::string name = symbol != nullptr && symbol->known() ? symbol->name : fmt::format("0x{:x}", address);
      if (options_.module_suffix && symbol != nullptr && symbol->known() && !symbol->module.empty()) {
        name += fmt::format(" [{}]", symbol->module);
      }
      found->second = result_.profile.frame(name, FrameKind::kKernel);
    }
    return found->second;
  }

  const EventSource& source_;
  const SequenceTable<uint64_t>& fallbacks_;
  const AggregateOptions& options_;
  Aggregate& result_;
  std::unordered_map<uint64_t, FrameId> by_address_;
  std::vector<FrameId> frames_;  // of the stack at hand; the task's place is first
  uint64_t* counter_ = nullptr;
};

class Aggregator {
 public:
  Aggregator(const EventSource& source, const Filter& filter, const AggregateOptions& options, Aggregate& result)
      : source_(source),
        options_(options),
        totals_(result.totals),
        result_(result),
        filter_(filter),
        names_(source.tasks()),
        weights_(source),
        repeats_(source) {}

  void take(const Event& event) {
    ++totals_.events;
    if (!filter_.accepts(event)) {
      ++totals_.filtered;
      return;
    }
    uint32_t comm = 0;
    if (!options_.merge_tasks || filter_.needs_task()) {
      const TaskEra& era = names_.find(event.tid, event.time_ns);
      if (filter_.needs_task() && !filter_.accepts(era, names_)) {
        ++totals_.filtered;
        return;
      }
      comm = options_.merge_tasks ? 0 : era.comm;
    }
    uint64_t value = repeats_.of(event);
    if (options_.weight == Weight::kBytes && !weigh(event, value)) {
      return;
    }
    ++totals_.counted;
    if (event.type >= by_type_.size()) {
      by_type_.resize(size_t{event.type} + 1);
    }
    ++by_type_[event.type];
    const auto [kind, stack] = key(event.stack);
    counts_.add(kind, stack, comm, value);
  }

  void finish() {
    for (size_t id = 0; id < by_type_.size(); ++id) {
      if (by_type_[id] != 0) {
        totals_.by_type.emplace_back(static_cast<uint16_t>(id), by_type_[id]);
      }
    }
    Resolver(source_, fallbacks_, options_, result_).add(counts_.entries(), names_);
  }

 private:
  bool weigh(const Event& event, uint64_t& bytes) {
    switch (weights_.weigh(event, bytes)) {
      case ByteWeights::Verdict::kBytes:
        return true;
      case ByteWeights::Verdict::kNotAllocation:
        ++totals_.not_allocations;
        break;
      case ByteWeights::Verdict::kFailed:
        ++totals_.failed_allocations;
        break;
      case ByteWeights::Verdict::kUnknownSize:
        ++totals_.unknown_size;
        break;
    }
    return false;
  }

  std::pair<StackCounts::Kind, uint64_t> key(const StackRef& stack) {
    switch (stack.state) {
      case StackRef::State::kCookie:
        return {StackCounts::Kind::kCookie, stack.cookie.value()};
      case StackRef::State::kFallback:
        return {StackCounts::Kind::kFallback, fallbacks_.intern(stack.frames)};
      case StackRef::State::kError:
        return {StackCounts::Kind::kError, static_cast<uint64_t>(stack.errnum)};
      case StackRef::State::kNone:
        break;
    }
    return {StackCounts::Kind::kNone, 0};
  }

  const EventSource& source_;
  const AggregateOptions& options_;
  AggregateTotals& totals_;
  Aggregate& result_;
  EventFilter filter_;
  TaskNames names_;
  ByteWeights weights_;
  EventRepeats repeats_;
  SequenceTable<uint64_t> fallbacks_;
  StackCounts counts_;
  std::vector<uint64_t> by_type_;
};

// "1 event", "3 events".
std::string counted(uint64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", human_count(n), noun, n == 1 ? "" : "s");
}

void add_notes(const AggregateTotals& totals, Profile& profile) {
  const auto note = [&](uint64_t n, std::string_view noun, std::string_view one, std::string_view many) {
    if (n != 0) {
      profile.notes.push_back(fmt::format("{} {}", counted(n, noun), n == 1 ? one : many));
    }
  };
  note(totals.not_allocations, "event", "is no allocation and has no bytes", "are no allocations and have no bytes");
  note(totals.failed_allocations, "failed allocation", "is not counted as bytes", "are not counted as bytes");
  note(totals.unknown_size, "allocation", "without a usable size is not counted",
       "without a usable size are not counted");
  note(totals.stack_errors, "event", "has an error in place of a stack", "have an error in place of a stack");
  note(totals.missing_stacks, "event", "has a stack that is not in the capture",
       "have stacks that are not in the capture");
  if (profile.saturated()) {
    profile.notes.emplace_back("sums have reached 2^64 - 1 and are too low");
  }
}

}  // namespace

std::string errno_name(int errnum) {
  const char* name = ::strerrorname_np(errnum);
  return name != nullptr ? std::string(name) : std::to_string(errnum);
}

Result<Aggregate> aggregate(const EventSource& source, const Filter& filter, const AggregateOptions& options) {
  Aggregate result;
  result.profile.unit = options.weight == Weight::kBytes ? Unit::kBytes : Unit::kEvents;
  Aggregator aggregator(source, filter, options, result);
  STACKMAP_TRY(source.for_each_event([&](const Event& event) {
    aggregator.take(event);
    return true;
  }));
  aggregator.finish();
  add_notes(result.totals, result.profile);
  return result;
}

}  // namespace stackmap
