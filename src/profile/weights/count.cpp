// SPDX-License-Identifier: Apache-2.0
// Events, each of them one, or as many as it stands for.
#include "profile/event_repeats.h"
#include "profile/weights/weight.h"

namespace stackmap {

namespace {

class CountWeight final : public Weight {
 public:
  explicit CountWeight(const EventSource& source) : repeats_(source) {}
  void take(const Event& event, WeightSink& sink) override { sink.add(sink.key(event), repeats_.of(event)); }

 private:
  EventRepeats repeats_;
};

}  // namespace

extern const WeightInfo weight_count;
constinit const WeightInfo weight_count = {
    "count", Unit::kEvents, "count",
    [](const EventSource& source) -> std::unique_ptr<Weight> { return std::make_unique<CountWeight>(source); }};

}  // namespace stackmap
