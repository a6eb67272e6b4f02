// SPDX-License-Identifier: Apache-2.0
#include "render/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/saturating.h"
#include "profile/frame_tree.h"
#include "render/clean_text.h"
#include "render/folded.h"

namespace stackmap {

namespace {

uint64_t distance(uint64_t before, uint64_t after) {
  return before > after ? before - after : after - before;
}

// One profile of both: `value` is the weight before, `count` the weight after.
Profile join(const Profile& before, const Profile& after) {
  Profile joined;
  joined.unit = before.unit;
  std::vector<FrameId> frames;
  for (const Profile* side : {&before, &after}) {
    for (size_t i = 0; i < side->size(); ++i) {
      const Profile::Sample sample = side->sample(i);
      frames.clear();
      for (const FrameId id : sample.frames) {
        frames.push_back(joined.frame(side->frame(id).name, side->frame(id).kind));
      }
      joined.add(frames, side == &before ? sample.value : 0, side == &after ? sample.value : 0);
    }
  }
  return joined;
}

std::vector<DiffNode> diff_nodes(const Profile& joined) {
  const FrameTree tree = build_tree(joined);
  std::vector<DiffNode> nodes;
  nodes.reserve(tree.nodes.size());
  for (const TreeNode& node : tree.nodes) {
    const Frame& frame = joined.frame(node.frame);
    nodes.push_back({display_name(frame.name), frame.kind, node.depth, node.parent, node.total, node.count, node.self,
                     node.self_count});
  }
  return nodes;
}

std::vector<DiffFunction> diff_functions(const Profile& joined) {
  std::vector<DiffFunction> rows(joined.frame_count());
  std::vector<size_t> last_stack(rows.size(), std::numeric_limits<size_t>::max());
  for (size_t i = 0; i < joined.size(); ++i) {
    const Profile::Sample sample = joined.sample(i);
    for (const FrameId id : sample.frames) {
      if (last_stack[id] != i) {
        last_stack[id] = i;
        add_saturating(rows[id].before, sample.value);
        add_saturating(rows[id].after, sample.count);
      }
    }
    if (!sample.frames.empty()) {
      add_saturating(rows[sample.frames.back()].self_before, sample.value);
      add_saturating(rows[sample.frames.back()].self_after, sample.count);
    }
  }
  std::vector<DiffFunction> functions;
  for (FrameId id = 0; id < rows.size(); ++id) {
    if (joined.frame(id).kind != FrameKind::kTask) {
      rows[id].name = display_name(joined.frame(id).name);
      functions.push_back(std::move(rows[id]));
    }
  }
  std::ranges::sort(functions, [](const DiffFunction& a, const DiffFunction& b) {
    const uint64_t x = distance(a.before, a.after);
    const uint64_t y = distance(b.before, b.after);
    return x != y ? x > y : a.name < b.name;
  });
  return functions;
}

}  // namespace

Result<ProfileDiff> diff_profiles(const Profile& before, const Profile& after) {
  if (before.unit != after.unit) {
    return make_error(ErrorKind::kUsage, fmt::format("a profile of {} cannot be compared with one of {}",
                                                     unit_name(before.unit), unit_name(after.unit)));
  }
  const Profile joined = join(before, after);
  ProfileDiff diff;
  diff.unit = before.unit;
  diff.total_before = before.total_value();
  diff.total_after = after.total_value();
  diff.nodes = diff_nodes(joined);
  diff.functions = diff_functions(joined);
  return diff;
}

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
  const size_t shown = limit == 0 ? diff.functions.size() : std::min(limit, diff.functions.size());
  out.write(fmt::format(
      "Total: {} before, {} after: {} ({} of the total before)\n\n", value_text_with_unit(diff.unit, diff.total_before),
      value_text_with_unit(diff.unit, diff.total_after), change_text(diff.unit, diff.total_before, diff.total_after),
      change_percent(diff.total_before, diff.total_after)));
  out.write(
      fmt::format("{} of {} functions, the largest change first; {} with callees, percent of the function's own "
                  "before:\n",
                  shown, diff.functions.size(), unit_name(diff.unit)));
  out.write(fmt::format("{:>12}  {:>9}  {:>12}  {:>12}  {:>12}  function\n", "change", "percent", "before", "after",
                        "self change"));
  for (size_t i = 0; i < shown; ++i) {
    const DiffFunction& row = diff.functions[i];
    out.write(fmt::format("{:>12}  {:>9}  {:>12}  {:>12}  {:>12}  {}\n", change_text(diff.unit, row.before, row.after),
                          change_percent(row.before, row.after), value_text(diff.unit, row.before),
                          value_text(diff.unit, row.after), change_text(diff.unit, row.self_before, row.self_after),
                          row.name));
  }
}

void write_diff_folded(const Profile& before, const Profile& after, TextWriter& out) {
  std::map<std::string, std::pair<uint64_t, uint64_t>> lines;
  const Profile joined = join(before, after);
  for (size_t i = 0; i < joined.size(); ++i) {
    const Profile::Sample sample = joined.sample(i);
    auto& [old_value, new_value] = lines[folded_stack(joined, sample.frames, false)];
    add_saturating(old_value, sample.value);
    add_saturating(new_value, sample.count);
  }
  for (const auto& [line, values] : lines) {
    out.write(fmt::format("{} {} {}\n", line, values.first, values.second));
  }
}

}  // namespace stackmap
