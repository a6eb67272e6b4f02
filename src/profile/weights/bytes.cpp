// SPDX-License-Identifier: Apache-2.0
// What allocations took: the size of the object that was handed out, which is not less than what was asked for.
#include "profile/weights/allocation_weight.h"

namespace stackmap {

extern const WeightInfo weight_bytes;
constinit const WeightInfo weight_bytes = {"bytes", Unit::kBytes, "bytes allocated",
                                           [](const EventSource& source) -> std::unique_ptr<Weight> {
                                             return std::make_unique<AllocationWeight>(source, "bytes_alloc");
                                           }};

}  // namespace stackmap
