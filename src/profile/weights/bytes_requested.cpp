// SPDX-License-Identifier: Apache-2.0
// What allocations asked for. What they took beyond that (weights/bytes.cpp) is lost to rounding up.
#include "profile/weights/allocation_weight.h"

namespace stackmap {

extern const WeightInfo weight_bytes_requested;
constinit const WeightInfo weight_bytes_requested = {"bytes-requested", Unit::kBytes, "bytes asked for",
                                                     [](const EventSource& source) -> std::unique_ptr<Weight> {
                                                       return std::make_unique<AllocationWeight>(source, "bytes_req");
                                                     }};

}  // namespace stackmap
