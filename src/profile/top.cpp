// SPDX-License-Identifier: Apache-2.0
#include "profile/top.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/saturating.h"
#include "profile/sequence_table.h"

namespace stackmap {

namespace {

void add_each(std::vector<uint64_t>& sums, std::span<const uint64_t> values) {
  for (size_t column = 0; column < values.size(); ++column) {
    add_saturating(sums[column], values[column]);
  }
}

}  // namespace

std::vector<FunctionRow> function_rows(const Profile& profile) {
  const std::vector<uint64_t> nought(profile.columns().size());
  std::vector<FunctionRow> rows(profile.frame_count());
  for (FrameId id = 0; id < rows.size(); ++id) {
    rows[id] = {id, nought, nought};
  }
  std::vector<size_t> last_stack(rows.size(), std::numeric_limits<size_t>::max());
  for (size_t i = 0; i < profile.size(); ++i) {
    const Profile::Sample sample = profile.sample(i);
    for (const FrameId id : sample.frames) {
      if (last_stack[id] != i) {
        last_stack[id] = i;
        add_each(rows[id].totals, sample.values);
      }
    }
    if (!sample.frames.empty()) {
      add_each(rows[sample.frames.back()].selfs, sample.values);
    }
  }
  std::erase_if(rows, [&](const FunctionRow& row) { return profile.frame(row.frame).kind == FrameKind::kTask; });
  return rows;
}

std::vector<FunctionRow> top_functions(const Profile& profile, FunctionOrder order) {
  std::vector<FunctionRow> rows = function_rows(profile);
  std::ranges::sort(rows, [&](const FunctionRow& a, const FunctionRow& b) {
    const auto key = [&](const FunctionRow& r) {
      return order == FunctionOrder::kTotal ? std::pair(r.totals.front(), r.selfs.front())
                                            : std::pair(r.selfs.front(), r.totals.front());
    };
    return key(a) != key(b) ? key(a) > key(b) : profile.frame(a.frame).name < profile.frame(b.frame).name;
  });
  return rows;
}

std::vector<StackRow> top_stacks(const Profile& profile) {
  SequenceTable<FrameId> stacks;
  std::vector<StackRow> rows;
  for (size_t i = 0; i < profile.size(); ++i) {
    const Profile::Sample sample = profile.sample(i);
    const bool has_task = !sample.frames.empty() && profile.frame(sample.frames[0]).kind == FrameKind::kTask;
    const auto frames = sample.frames.subspan(has_task ? 1 : 0);
    const uint32_t index = stacks.intern(frames);
    if (index == rows.size()) {
      rows.push_back({{frames.rbegin(), frames.rend()}, {}, std::vector<uint64_t>(profile.columns().size())});
    }
    add_each(rows[index].values, sample.values);
    if (has_task) {
      rows[index].tasks.push_back(sample.frames[0]);
    }
  }
  const auto by_name = [&](FrameId a, FrameId b) { return profile.frame(a).name < profile.frame(b).name; };
  for (StackRow& row : rows) {
    std::ranges::sort(row.tasks, by_name);
  }
  std::ranges::sort(rows, [&](const StackRow& a, const StackRow& b) {
    return a.values.front() != b.values.front() ? a.values.front() > b.values.front()
                                                : std::ranges::lexicographical_compare(a.frames, b.frames, by_name);
  });
  return rows;
}

}  // namespace stackmap
