// SPDX-License-Identifier: Apache-2.0
// A naive model of the stack map, one thread, and a driver that does the same steps to both and compares them. The
// unit test drives it with random steps, the fuzz target with its input.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "stackmap/stack_map.h"

namespace stackmap_test {

using stackmap::Cookie;
using stackmap::Fallback;
using stackmap::Generation;
using stackmap::LookupStatus;
using stackmap::StackMap;
using stackmap::StackMapOptions;

inline void expect(bool condition, const char* what) {
  if (!condition) {
    throw std::logic_error(what);
  }
}

class ModelDriver {
 public:
  using Frames = std::vector<uint64_t>;

  // What the options make possible; without these, fallbacks of that kind are faults.
  struct Allowed {
    bool probes = false;
    bool arena = false;
  };

  ModelDriver(const StackMapOptions& options, Allowed allowed)
      : map_(std::move(StackMap::create(options)).value()), allowed_(allowed) {}

  void intern(const Frames& frames) {
    auto session = map_->pin();
    const auto result = session.intern(frames);
    session.end();
    ++counts_[static_cast<size_t>(result.fallback)];
    ++totals_[static_cast<size_t>(result.fallback)];
    if (!on_ || frames.empty() || frames.size() > map_->options().max_depth) {
      const auto reason = !on_ ? Fallback::kOff : frames.empty() ? Fallback::kEmpty : Fallback::kTooDeep;
      expect(result.fallback == reason, "wrong reason for a stack that is refused");
      return;
    }
    const auto known = stacks_.find(frames);
    if (known != stacks_.end()) {
      expect(result.stored() && !result.is_new, "a stored stack was not found");
      expect(result.cookie == known->second.first, "a stack has two cookies");
      ++known->second.second;
      return;
    }
    if (!result.stored()) {
      check_refusal(result.fallback);
      return;
    }
    expect(result.is_new, "a stack that was never stored was found");
    expect(stacks_.size() < map_->options().capacity, "more stacks than the capacity");
    expect(result.cookie.generation() == generation_, "the cookie is of another generation");
    expect(cookies_.emplace(result.cookie, frames).second, "two stacks share a cookie");
    stacks_.emplace(frames, std::pair(result.cookie, 1));
  }

  void reset() {
    const auto ended = std::move(map_->reset()).value();
    expect((ended != nullptr) == has_map_, "reset returned the wrong thing");
    if (has_map_) {
      check_contents(*ended);
      start_generation();
    }
  }
  void on() {
    expect(map_->on().ok(), "on failed");
    if (!has_map_) {
      start_generation();
    }
    on_ = has_map_ = true;
  }
  void off() {
    map_->off();
    on_ = false;
  }
  void free() {
    expect(map_->free().ok() == !on_, "free while on, or not while off");
    if (!on_) {
      has_map_ = false;
      stacks_.clear();
    }
  }
  void lookup(Cookie cookie) const {
    const auto generation = map_->snapshot();
    expect((generation != nullptr) == has_map_, "snapshot of a map that is not there");
    if (generation == nullptr) {
      return;
    }
    const auto found = generation->lookup(cookie);
    const auto known = cookies_.find(cookie);
    if (cookie.generation() != generation_) {
      expect(found.status == LookupStatus::kStale, "a cookie of another generation is not stale");
    } else if (known == cookies_.end()) {
      expect(found.status == LookupStatus::kUnknown, "a stack nobody stored was found");
    } else {
      expect(found.status == LookupStatus::kFound, "a stored stack was not found by its cookie");
      expect(Frames(found.record.frames.begin(), found.record.frames.end()) == known->second, "wrong stack");
    }
  }

  void check() const {
    expect(map_->totals() == totals_, "the session's totals are wrong");
    const auto stats = map_->stats();
    expect(stats.has_value() == has_map_, "stats of a map that is not there");
    if (!stats) {
      return;
    }
    expect(stats->generation == generation_, "wrong generation");
    expect(stats->entries == stacks_.size(), "wrong number of entries");
    expect(stats->outcomes == counts_, "wrong counts");
    expect(stats->arena_bytes <= stats->arena_limit, "the ceiling does not hold");
    check_contents(*map_->snapshot());
  }

  size_t stored() const { return stacks_.size(); }
  uint32_t generation() const { return generation_; }

 private:
  void check_refusal(Fallback reason) const {
    switch (reason) {
      case Fallback::kFull:
        expect(stacks_.size() == map_->options().capacity, "full below the capacity");
        return;
      case Fallback::kProbes:
        expect(allowed_.probes, "out of probes without cause");
        return;
      case Fallback::kArena:
        expect(allowed_.arena, "out of arena without cause");
        return;
      default:
        expect(false, "a stack was refused for no reason");
    }
  }

  void check_contents(const Generation& generation) const {
    expect(generation.number() == generation_, "wrong generation");
    size_t seen = 0;
    int64_t last_slot = -1;
    generation.for_each([&](const stackmap::StackRecord& record) {
      const Frames frames(record.frames.begin(), record.frames.end());
      const auto known = stacks_.find(frames);
      expect(known != stacks_.end(), "a record of a stack nobody stored");
      expect(known->second.first == Cookie(generation_, record.slot), "a record in another slot than its cookie");
      expect(known->second.second == record.ref, "wrong ref");
      expect(last_slot < int64_t{record.slot}, "records out of order");
      last_slot = record.slot;
      ++seen;
    });
    expect(seen == stacks_.size(), "not all stacks are recorded");
  }

  void start_generation() {
    ++generation_;
    stacks_.clear();
    counts_ = {};
  }

  std::unique_ptr<StackMap> map_;
  Allowed allowed_;
  bool on_ = true;
  bool has_map_ = true;
  uint32_t generation_ = 1;
  std::map<Frames, std::pair<Cookie, uint32_t>> stacks_;
  std::map<Cookie, Frames> cookies_;  // of all generations
  stackmap::OutcomeCounts counts_{};
  stackmap::OutcomeCounts totals_{};
};

}  // namespace stackmap_test
