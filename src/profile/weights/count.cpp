// SPDX-License-Identifier: Apache-2.0
// Events, each of them one.
#include "profile/weights/weight.h"

namespace stackmap {

namespace {

class CountWeight final : public Weight {
 public:
  void take(const Event& event, WeightSink& sink) override { sink.add(sink.key(event), 1); }
};

}  // namespace

extern const WeightInfo weight_count;
constinit const WeightInfo weight_count = {
    "count", Unit::kEvents, "count",
    [](const EventSource&) -> std::unique_ptr<Weight> { return std::make_unique<CountWeight>(); }};

}  // namespace stackmap
