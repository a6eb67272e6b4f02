// SPDX-License-Identifier: Apache-2.0
// The door for weights: what a report adds up.
//
// A weight is a file weights/NAME.cpp with a class of its own and a `const WeightInfo weight_NAME`; CMakeLists.txt
// lists the names, and with that the commands offer it. It is shown the events in the order of their source and puts
// values into a sink, each under the stack and task of any event that it was shown: of the one at hand (bytes), of an
// earlier one, when a later one tells what it cost (time off the CPU), or at the end (bytes that were not freed).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profile/event_source.h"
#include "profile/profile.h"
#include "profile/weight_sink.h"

namespace stackmap {

// Of one pass over a source. Not thread-safe.
class Weight {
 public:
  virtual ~Weight() = default;
  // An event that the report's filter accepts. It may be put into the sink, now or later, by sink.key(event).
  virtual void take(const Event& event, WeightSink& sink) = 0;
  // An event that the filter refuses: nothing is counted under it, and it may end what an accepted one began.
  virtual void pass(const Event& /*event*/, WeightSink& /*sink*/) {}
  // All events have been shown.
  virtual void finish(WeightSink& /*sink*/) {}
  // What a reader must know of what was left out, a sentence each; after finish().
  virtual std::vector<std::string> notes() const { return {}; }
};

struct WeightInfo {
  std::string_view name;  // as --weight takes it
  Unit unit = Unit::kEvents;
  std::string_view help;  // what is added up: a part of a sentence
  // The source outlives the result.
  std::unique_ptr<Weight> (*make)(const EventSource& source) = nullptr;
};

// All of them, the default first.
std::span<const WeightInfo* const> weights();
// Null if there is none of that name.
const WeightInfo* find_weight(std::string_view name);

}  // namespace stackmap
