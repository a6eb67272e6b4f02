// SPDX-License-Identifier: Apache-2.0
// CMakeLists.txt lists the weights: STACKMAP_WEIGHTS is WEIGHT(name) for each of them.
#include "profile/weights/weight.h"

#include <algorithm>

namespace stackmap {

#define WEIGHT(name) extern const WeightInfo weight_##name;
STACKMAP_WEIGHTS
#undef WEIGHT

std::span<const WeightInfo* const> weights() {
#define WEIGHT(name) &weight_##name,
  static constexpr const WeightInfo* kWeights[] = {STACKMAP_WEIGHTS};
#undef WEIGHT
  return kWeights;
}

const WeightInfo* find_weight(std::string_view name) {
  const auto found = std::ranges::find(weights(), name, &WeightInfo::name);
  return found != weights().end() ? *found : nullptr;
}

}  // namespace stackmap
