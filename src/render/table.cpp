// SPDX-License-Identifier: Apache-2.0
#include "render/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/saturating.h"
#include "base/text.h"
#include "profile/sequence_table.h"
#include "render/clean_text.h"

namespace stackmap {

namespace {

std::string plural(uint64_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", human_count(n), n == 1 ? one : many);
}

std::string heading(std::string_view what, size_t shown, size_t all, std::string_view by) {
  return shown < all ? fmt::format("Top {} of {} {}, by {}:\n", human_count(shown), human_count(all), what, by)
                     : fmt::format("All {} {}, by {}:\n", human_count(all), what, by);
}

}  // namespace

std::vector<FunctionRow> top_functions(const Profile& profile, bool sort_by_total) {
  std::vector<FunctionRow> rows(profile.frame_count());
  for (FrameId id = 0; id < rows.size(); ++id) {
    rows[id].name = display_name(profile.frame(id).name);
  }
  std::vector<size_t> last_stack(rows.size(), std::numeric_limits<size_t>::max());
  for (size_t i = 0; i < profile.size(); ++i) {
    const Profile::Sample sample = profile.sample(i);
    for (const FrameId id : sample.frames) {
      if (last_stack[id] != i) {
        last_stack[id] = i;
        add_saturating(rows[id].total, sample.value);
      }
    }
    if (!sample.frames.empty()) {
      add_saturating(rows[sample.frames.back()].self, sample.value);
    }
  }
  std::vector<FunctionRow> functions;
  for (FrameId id = 0; id < rows.size(); ++id) {
    if (profile.frame(id).kind != FrameKind::kTask) {
      functions.push_back(std::move(rows[id]));
    }
  }
  std::ranges::sort(functions, [&](const FunctionRow& a, const FunctionRow& b) {
    const auto key = [&](const FunctionRow& r) {
      return sort_by_total ? std::pair(r.total, r.self) : std::pair(r.self, r.total);
    };
    return key(a) != key(b) ? key(a) > key(b) : a.name < b.name;
  });
  return functions;
}

std::vector<StackRow> top_stacks(const Profile& profile, size_t limit) {
  struct Group {
    uint64_t value = 0;
    uint64_t count = 0;
    std::vector<FrameId> tasks;
  };
  SequenceTable<FrameId> stacks;
  std::vector<Group> groups;
  for (size_t i = 0; i < profile.size(); ++i) {
    const Profile::Sample sample = profile.sample(i);
    const bool task = !sample.frames.empty() && profile.frame(sample.frames[0]).kind == FrameKind::kTask;
    const uint32_t index = stacks.intern(sample.frames.subspan(task ? 1 : 0));
    groups.resize(stacks.size());
    add_saturating(groups[index].value, sample.value);
    add_saturating(groups[index].count, sample.count);
    if (task) {
      groups[index].tasks.push_back(sample.frames[0]);
    }
  }
  const auto innermost_first = [&](size_t a, size_t b) {
    const auto x = stacks.at(a);
    const auto y = stacks.at(b);
    return std::lexicographical_compare(x.rbegin(), x.rend(), y.rbegin(), y.rend(), [&](FrameId f, FrameId g) {
      return profile.frame(f).name < profile.frame(g).name;
    });
  };
  std::vector<size_t> order(groups.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  const size_t shown = limit == 0 ? order.size() : std::min(limit, order.size());
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(), [&](size_t a, size_t b) {
        return groups[a].value != groups[b].value ? groups[a].value > groups[b].value : innermost_first(a, b);
      });
  std::vector<StackRow> rows(shown);
  for (size_t i = 0; i < shown; ++i) {
    const auto frames = stacks.at(order[i]);
    const Group& group = groups[order[i]];
    for (size_t f = frames.size(); f-- > 0;) {
      rows[i].frames.push_back(display_name(profile.frame(frames[f]).name));
    }
    for (const FrameId task : group.tasks) {
      rows[i].tasks.push_back(display_name(profile.frame(task).name));
    }
    std::ranges::sort(rows[i].tasks);
    rows[i].value = group.value;
    rows[i].count = group.count;
  }
  return rows;
}

namespace {

void write_stacks(const Profile& profile, const TableOptions& options, TextWriter& out) {
  const std::vector<StackRow> all = top_stacks(profile, 0);
  const size_t shown = options.limit == 0 ? all.size() : std::min(options.limit, all.size());
  const bool bytes = profile.unit != Unit::kEvents;
  out.write(heading(all.size() == 1 ? "stack" : "stacks", shown, all.size(), unit_name(profile.unit)));
  out.write(fmt::format("{:>6}  {:>12}  {:>7}{}  task\n", "rank", unit_name(profile.unit), "share",
                        bytes ? fmt::format("  {:>12}", "events") : ""));
  for (size_t i = 0; i < shown; ++i) {
    const StackRow& row = all[i];
    std::string task;
    if (!row.tasks.empty()) {
      task = row.tasks.size() == 1 ? row.tasks[0] : plural(row.tasks.size(), "task", "tasks");
    }
    std::string head = fmt::format("{:>6}  {:>12}  {:>7}", i + 1, value_text(profile.unit, row.value),
                                   percent_text(row.value, profile.total_value()));
    if (bytes) {
      head += fmt::format("  {:>12}", human_count(row.count));
    }
    out.write(task.empty() ? head + "\n" : fmt::format("{}  {}\n", head, task));
    const size_t frames = options.max_frames == 0 ? row.frames.size() : std::min(options.max_frames, row.frames.size());
    for (size_t f = 0; f < frames; ++f) {
      out.write(fmt::format("{:>8}{}\n", "", row.frames[f]));
    }
    if (frames < row.frames.size()) {
      out.write(fmt::format("{:>8}({} more)\n", "", human_count(row.frames.size() - frames)));
    }
  }
}

void write_functions(const Profile& profile, const TableOptions& options, TextWriter& out) {
  const std::vector<FunctionRow> all = top_functions(profile, options.sort_by_total);
  const size_t shown = options.limit == 0 ? all.size() : std::min(options.limit, all.size());
  out.write(heading(all.size() == 1 ? "function" : "functions", shown, all.size(),
                    fmt::format("{} {}", options.sort_by_total ? "total" : "self", unit_name(profile.unit))));
  out.write(fmt::format("{:>14}  {:>7}  {:>12}  {:>7}  function\n", "self", "share", "total", "share"));
  for (size_t i = 0; i < shown; ++i) {
    const FunctionRow& row = all[i];
    out.write(fmt::format("{:>14}  {:>7}  {:>12}  {:>7}  {}\n", value_text(profile.unit, row.self),
                          percent_text(row.self, profile.total_value()), value_text(profile.unit, row.total),
                          percent_text(row.total, profile.total_value()), row.name));
  }
}

}  // namespace

void write_table(const Profile& profile, const TableOptions& options, TextWriter& out) {
  if (!profile.title.empty()) {
    out.write(clean_text(profile.title) + "\n");
  }
  std::string total = "Total: " + value_text_with_unit(profile.unit, profile.total_value());
  if (profile.unit != Unit::kEvents) {
    total += " in " + value_text_with_unit(Unit::kEvents, profile.total_count());
  }
  out.write(total + "\n");
  for (const std::string& note : profile.notes) {
    out.write(fmt::format("Note: {}\n", clean_text(note)));
  }
  if (profile.empty()) {
    return;
  }
  if (options.stacks) {
    out.write("\n");
    write_stacks(profile, options, out);
  }
  if (options.functions) {
    out.write("\n");
    write_functions(profile, options, out);
  }
}

}  // namespace stackmap
