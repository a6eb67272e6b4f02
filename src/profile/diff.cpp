// SPDX-License-Identifier: Apache-2.0
#include "profile/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stackmap {

namespace {

void add_side(const Profile& side, size_t column, Profile& joined) {
  std::vector<FrameId> frames;
  for (size_t i = 0; i < side.size(); ++i) {
    const Profile::Sample sample = side.sample(i);
    frames.clear();
    for (const FrameId id : sample.frames) {
      frames.push_back(joined.frame(side.frame(id).name, side.frame(id).kind));
    }
    std::array<uint64_t, 2> values{};
    values[column] = sample.values.front();
    joined.add(frames, values);
  }
}

}  // namespace

Result<ProfileDiff> diff_profiles(const Profile& before, const Profile& after) {
  if (before.unit() != after.unit()) {
    return make_error(ErrorKind::kUsage, fmt::format("a profile of {} cannot be compared with one of {}",
                                                     unit_name(before.unit()), unit_name(after.unit())));
  }
  ProfileDiff diff{Profile({{"before", before.unit()}, {"after", after.unit()}}), {}};
  add_side(before, kBefore, diff.joined);
  add_side(after, kAfter, diff.joined);
  diff.functions = function_rows(diff.joined);
  std::ranges::sort(diff.functions, [&](const FunctionRow& a, const FunctionRow& b) {
    const uint64_t x = distance(a.totals[kBefore], a.totals[kAfter]);
    const uint64_t y = distance(b.totals[kBefore], b.totals[kAfter]);
    return x != y ? x > y : diff.joined.frame(a.frame).name < diff.joined.frame(b.frame).name;
  });
  return diff;
}

uint64_t distance(uint64_t before, uint64_t after) {
  return before > after ? before - after : after - before;
}

}  // namespace stackmap
