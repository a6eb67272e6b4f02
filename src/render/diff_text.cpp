// SPDX-License-Identifier: Apache-2.0
#include "render/diff_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/saturating.h"
#include "render/clean_text.h"
#include "render/folded.h"

namespace stackmap {

std::string change_text(Unit unit, uint64_t before, uint64_t after) {
  if (before == after) {
    return "0";
  }
  return fmt::format("{}{}", before < after ? '+' : '-', value_text(unit, distance(before, after)));
}

std::string change_percent(uint64_t before, uint64_t after) {
  if (before == 0) {
    return after == 0 ? "0.0%" : "new";
  }
  const std::string_view sign = before == after ? "" : before < after ? "+" : "-";
  return fmt::format("{}{}", sign, percent_text(distance(before, after), before));
}

void write_diff_table(const ProfileDiff& diff, size_t limit, TextWriter& out) {
  const Unit unit = diff.joined.unit();
  const uint64_t total_before = diff.joined.totals()[kBefore];
  const uint64_t total_after = diff.joined.totals()[kAfter];
  const size_t shown = limit == 0 ? diff.functions.size() : std::min(limit, diff.functions.size());
  out.write(fmt::format("Total: {} before, {} after: {} ({} of the total before)\n\n",
                        value_text_with_unit(unit, total_before), value_text_with_unit(unit, total_after),
                        change_text(unit, total_before, total_after), change_percent(total_before, total_after)));
  out.write(
      fmt::format("{} of {} functions, the largest change first; {} with callees, percent of the function's own "
                  "before:\n",
                  shown, diff.functions.size(), unit_name(unit)));
  out.write(fmt::format("{:>12}  {:>9}  {:>12}  {:>12}  {:>12}  function\n", "change", "percent", "before", "after",
                        "self change"));
  for (size_t i = 0; i < shown; ++i) {
    const FunctionRow& row = diff.functions[i];
    const uint64_t before = row.totals[kBefore];
    const uint64_t after = row.totals[kAfter];
    out.write(fmt::format("{:>12}  {:>9}  {:>12}  {:>12}  {:>12}  {}\n", change_text(unit, before, after),
                          change_percent(before, after), value_text(unit, before), value_text(unit, after),
                          change_text(unit, row.selfs[kBefore], row.selfs[kAfter]),
                          display_name(diff.joined.frame(row.frame).name)));
  }
}

void write_diff_folded(const ProfileDiff& diff, TextWriter& out) {
  std::map<std::string, std::pair<uint64_t, uint64_t>> lines;
  for (size_t i = 0; i < diff.joined.size(); ++i) {
    const Profile::Sample sample = diff.joined.sample(i);
    auto& [before, after] = lines[folded_stack(diff.joined, sample.frames, KernelNames::kPlain)];
    add_saturating(before, sample.values[kBefore]);
    add_saturating(after, sample.values[kAfter]);
  }
  for (const auto& [line, values] : lines) {
    out.write(fmt::format("{} {} {}\n", line, values.first, values.second));
  }
}

}  // namespace stackmap
