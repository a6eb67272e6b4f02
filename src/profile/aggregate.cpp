// SPDX-License-Identifier: Apache-2.0
#include "profile/aggregate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "profile/notes.h"

namespace stackmap {

namespace {

// Turns what was counted into the samples of a profile.
class Resolver {
 public:
  Resolver(const EventSource& source, const SequenceTable<uint64_t>& fallbacks, const AggregateOptions& options,
           Profile& profile)
      : source_(source), fallbacks_(fallbacks), options_(options), profile_(profile) {}

  void add(std::vector<StackCounts::Entry> entries, const TaskNames& names) {
    std::ranges::sort(entries, {}, [](const auto& e) { return std::tuple(e.key.kind, e.key.stack, e.key.task); });
    StackKey last;
    for (const auto& [key, value, count] : entries) {
      if (frames_.empty() || key.kind != last.kind || key.stack != last.stack) {
        last = key;
        resolve(key);
      }
      if (not_there_ != nullptr) {
        *not_there_ += count;
      }
      if (!options_.merge_tasks) {
        frames_[0] = profile_.frame(names.comm(key.task), FrameKind::kTask);
      }
      const std::array values = {value, count};
      profile_.add(frames_, std::span(values).first(profile_.columns().size()));
    }
    add_note(profile_.notes, stack_errors_, "event", "has an error in place of a stack",
             "have an error in place of a stack");
    add_note(profile_.notes, missing_stacks_, "event", "has a stack that is not in the capture",
             "have stacks that are not in the capture");
  }

 private:
  void resolve(const StackKey& key) {
    frames_.assign(options_.merge_tasks ? 0 : 1, 0);
    not_there_ = nullptr;
    switch (key.kind) {
      case StackKey::Kind::kNone:
        bucket("[no stack]");
        break;
      case StackKey::Kind::kError:
        not_there_ = &stack_errors_;
        bucket(fmt::format("[stack error {}]", errno_name(static_cast<int>(key.stack))));
        break;
      case StackKey::Kind::kFallback:
        stack(fallbacks_.at(key.stack));
        break;
      case StackKey::Kind::kCookie: {
        const Cookie cookie = Cookie::from_value(key.stack);
        const auto frames = source_.stack(cookie);
        if (frames.empty()) {
          not_there_ = &missing_stacks_;
          bucket(fmt::format("[stack {} gen {} not in the capture]", cookie.slot(), cookie.generation()));
        } else {
          stack(frames);
        }
        break;
      }
    }
  }

  void bucket(std::string_view name) { frames_.push_back(profile_.frame(name, FrameKind::kBucket)); }

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
      found->second = profile_.frame(name, FrameKind::kKernel);
    }
    return found->second;
  }

  const EventSource& source_;
  const SequenceTable<uint64_t>& fallbacks_;
  const AggregateOptions& options_;
  Profile& profile_;
  std::unordered_map<uint64_t, FrameId> by_address_;
  std::vector<FrameId> frames_;    // of the stack at hand; the task's place is first
  uint64_t* not_there_ = nullptr;  // what counts the stack at hand, if it is not there
  uint64_t stack_errors_ = 0;
  uint64_t missing_stacks_ = 0;
};

// Shows the events to a weight, by the filter.
class EventPass {
 public:
  EventPass(const EventSource& source, const Filter& filter, const AggregateOptions& options)
      : merge_tasks_(options.merge_tasks),
        filter_(filter),
        names_(source.tasks()),
        weight_(options.weight->make(source)) {}

  void take(const Event& event) {
    if (accepts(event)) {
      weight_->take(event, sink_);
    } else {
      weight_->pass(event, sink_);
    }
  }

  void finish(const EventSource& source, const AggregateOptions& options, Profile& profile) {
    weight_->finish(sink_);
    profile.notes = weight_->notes();
    Resolver(source, sink_.fallbacks(), options, profile).add(sink_.entries(), names_);
  }

 private:
  // Also tells the sink whose event it is.
  bool accepts(const Event& event) {
    if (!filter_.accepts(event)) {
      return false;
    }
    if (merge_tasks_ && !filter_.needs_task()) {
      return true;
    }
    const TaskEra& era = names_.find(event.tid, event.time_ns);
    if (filter_.needs_task() && !filter_.accepts(era, names_)) {
      return false;
    }
    sink_.set_task(merge_tasks_ ? 0 : era.comm);
    return true;
  }

  bool merge_tasks_;
  EventFilter filter_;
  TaskNames names_;
  WeightSink sink_;
  std::unique_ptr<Weight> weight_;
};

std::vector<ValueColumn> columns_of(const WeightInfo& weight) {
  std::vector<ValueColumn> columns = {{std::string(weight.name), weight.unit}};
  if (weight.unit != Unit::kEvents) {
    columns.push_back({"count", Unit::kEvents});
  }
  return columns;
}

}  // namespace

Result<Profile> aggregate(const EventSource& source, const Filter& filter, const AggregateOptions& options) {
  Profile profile(columns_of(*options.weight));
  EventPass pass(source, filter, options);
  STACKMAP_TRY(source.for_each_event([&](const Event& event) {
    pass.take(event);
    return true;
  }));
  pass.finish(source, options, profile);
  if (profile.saturated()) {
    profile.notes.emplace_back("sums have reached 2^64 - 1 and are too low");
  }
  return profile;
}

Result<Profile> make_profile(const Capture& capture, const Filter& filter, const AggregateOptions& options,
                             const LentNames* names) {
  return aggregate(CaptureSource(capture, names), filter, options);
}

}  // namespace stackmap
