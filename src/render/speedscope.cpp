// SPDX-License-Identifier: Apache-2.0
// Speedscope's own file format: https://www.speedscope.app/file-format-schema.json.
//
// One "sampled" profile for each column, over the same frames. Its unit is "bytes", or "none" for events; the format
// has no other that fits. Stacks that weigh nothing in a column are not among its samples, so the weights of a profile
// add up to its endValue. A stack without frames is an empty sample. The list of frames holds a name once for each
// kind.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/json.h"
#include "render/clean_text.h"
#include "render/format.h"

namespace stackmap {

namespace {

std::string_view speedscope_unit(Unit unit) {
  return unit == Unit::kBytes ? "bytes" : "none";
}

void write_frames(const Profile& profile, KernelNames kernel_names, TextWriter& out) {
  for (FrameId id = 0; id < profile.frame_count(); ++id) {
    const Frame& frame = profile.frame(id);
    std::string name = display_name(frame.name);
    if (kernel_names == KernelNames::kSuffixed && frame.kind == FrameKind::kKernel) {
      name += "_[k]";
    }
    out.write(fmt::format("{}{{\"name\":{}}}", id == 0 ? "" : ",\n", json_string(name)));
  }
}

// One profile, and how many stacks weigh nothing in it.
uint64_t write_column(const Profile& profile, size_t column, TextWriter& out) {
  const auto value = [&](size_t stack) { return profile.sample(stack).values[column]; };
  out.write(
      fmt::format("{{\"type\":\"sampled\",\"name\":{},\"unit\":\"{}\",\"startValue\":0,\"endValue\":{},\"samples\":[\n",
                  json_string(profile.columns()[column].name), speedscope_unit(profile.columns()[column].unit),
                  profile.totals()[column]));
  uint64_t zeros = 0;
  std::string_view separator;
  for (size_t i = 0; i < profile.size(); ++i) {
    if (value(i) == 0) {
      ++zeros;
      continue;
    }
    out.write(fmt::format("{}[{}]", separator, fmt::join(profile.sample(i).frames, ",")));
    separator = ",\n";
  }
  out.write("\n],\"weights\":[\n");
  separator = {};
  for (size_t i = 0; i < profile.size(); ++i) {
    if (value(i) != 0) {
      out.write(fmt::format("{}{}", separator, value(i)));
      separator = ",\n";
    }
  }
  out.write("\n]}");
  return zeros;
}

std::vector<std::string> write_speedscope(const Profile& profile, const FormatOptions& options, TextWriter& out) {
  const std::string name = clean_text(profile.title.empty() ? "stackmap" : profile.title);
  out.write(
      fmt::format("{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"stackmap\","
                  "\"name\":{},\"activeProfileIndex\":0,\n\"shared\":{{\"frames\":[\n",
                  json_string(name)));
  write_frames(profile, options.kernel_names, out);
  out.write("\n]},\"profiles\":[\n");
  std::vector<std::string> notes;
  for (size_t column = 0; column < profile.columns().size(); ++column) {
    out.write(column == 0 ? "" : ",\n");
    const uint64_t zeros = write_column(profile, column, out);
    if (column == 0) {
      note_zero_stacks(notes, zeros);
    }
  }
  out.write("\n]}\n");
  note_large_numbers(notes, *std::ranges::max_element(profile.totals()));
  return notes;
}

}  // namespace

extern const Format format_speedscope;
constinit const Format format_speedscope = {"speedscope", write_speedscope};

}  // namespace stackmap
