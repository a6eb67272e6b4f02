// SPDX-License-Identifier: Apache-2.0
#include "render/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
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

size_t shown_of(size_t limit, size_t all) {
  return limit == 0 ? all : std::min(limit, all);
}

std::string name_of(const Profile& profile, FrameId frame) {
  return display_name(profile.frame(frame).name);
}

void write_stacks(const Profile& profile, const TableOptions& options, TextWriter& out) {
  const std::vector<StackRow> all = top_stacks(profile);
  const auto& columns = profile.columns();
  const size_t shown = shown_of(options.limit, all.size());
  out.write(heading(all.size() == 1 ? "stack" : "stacks", shown, all.size(), unit_name(profile.unit())));
  std::string head = fmt::format("{:>6}  {:>12}  {:>7}", "rank", unit_name(profile.unit()), "share");
  for (size_t column = 1; column < columns.size(); ++column) {
    head += fmt::format("  {:>12}", unit_name(columns[column].unit));
  }
  out.write(head + "  task\n");
  for (size_t i = 0; i < shown; ++i) {
    const StackRow& row = all[i];
    std::string line = fmt::format("{:>6}  {:>12}  {:>7}", i + 1, value_text(profile.unit(), row.values.front()),
                                   percent_text(row.values.front(), profile.total()));
    for (size_t column = 1; column < columns.size(); ++column) {
      line += fmt::format("  {:>12}", value_text(columns[column].unit, row.values[column]));
    }
    if (!row.tasks.empty()) {
      line +=
          "  " + (row.tasks.size() == 1 ? name_of(profile, row.tasks[0]) : plural(row.tasks.size(), "task", "tasks"));
    }
    out.write(line + "\n");
    const size_t frames = shown_of(options.max_frames, row.frames.size());
    for (size_t f = 0; f < frames; ++f) {
      out.write(fmt::format("{:>8}{}\n", "", name_of(profile, row.frames[f])));
    }
    if (frames < row.frames.size()) {
      out.write(fmt::format("{:>8}({} more)\n", "", human_count(row.frames.size() - frames)));
    }
  }
}

void write_functions(const Profile& profile, const TableOptions& options, TextWriter& out) {
  const std::vector<FunctionRow> all = top_functions(profile, options.order);
  const size_t shown = shown_of(options.limit, all.size());
  const Unit unit = profile.unit();
  const std::string_view key = options.order == FunctionOrder::kTotal ? "total" : "self";
  out.write(heading(all.size() == 1 ? "function" : "functions", shown, all.size(),
                    fmt::format("{} {}", key, unit_name(unit))));
  out.write(fmt::format("{:>14}  {:>7}  {:>12}  {:>7}  function\n", "self", "share", "total", "share"));
  for (size_t i = 0; i < shown; ++i) {
    const uint64_t self = all[i].selfs.front();
    const uint64_t total = all[i].totals.front();
    out.write(fmt::format("{:>14}  {:>7}  {:>12}  {:>7}  {}\n", value_text(unit, self),
                          percent_text(self, profile.total()), value_text(unit, total),
                          percent_text(total, profile.total()), name_of(profile, all[i].frame)));
  }
}

}  // namespace

void write_table(const Profile& profile, const TableOptions& options, TextWriter& out) {
  if (!profile.title.empty()) {
    out.write(clean_text(profile.title) + "\n");
  }
  out.write("Total: " + total_text(profile) + "\n");
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
