// SPDX-License-Identifier: Apache-2.0
#include "render/folded.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/saturating.h"
#include "render/clean_text.h"

namespace stackmap {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Where the space stands if `name` ends in a space and a number ("worker 7", "v 1.5"); npos if it does not.
size_t space_before_number(std::string_view name) {
  size_t at = name.size();
  while (at > 0 && is_digit(name[at - 1])) {
    --at;
  }
  if (at > 0 && name[at - 1] == '.') {
    --at;
    while (at > 0 && is_digit(name[at - 1])) {
      --at;
    }
  }
  const bool number = at < name.size() && is_digit(name[at]);
  return number && at > 0 && name[at - 1] == ' ' ? at - 1 : std::string_view::npos;
}

}  // namespace

std::string folded_frame(std::string_view name, FramePlace place) {
  std::string out = display_name(name);
  std::ranges::replace(out, ';', ':');
  for (size_t i = 0; i < out.size() && out[i] == ' '; ++i) {
    out[i] = '_';
  }
  for (size_t i = out.size(); i > 0 && out[i - 1] == ' '; --i) {
    out[i - 1] = '_';
  }
  if (const size_t space = space_before_number(out); space != std::string_view::npos) {
    out[space] = '_';
  }
  if (place == FramePlace::kLineStart && out.starts_with('#')) {
    out.replace(0, 1, "\\x23");
  }
  return out;
}

std::string folded_stack(const Profile& profile, std::span<const FrameId> frames, KernelNames kernel_names) {
  std::string line;
  if (frames.size() < 2) {
    line = "all;";
  }
  if (frames.empty()) {
    line += "[empty stack]";
  }
  for (size_t i = 0; i < frames.size(); ++i) {
    const Frame& frame = profile.frame(frames[i]);
    if (i != 0) {
      line += ';';
    }
    line += folded_frame(frame.name, line.empty() ? FramePlace::kLineStart : FramePlace::kWithin);
    if (kernel_names == KernelNames::kSuffixed && frame.kind == FrameKind::kKernel) {
      line += "_[k]";
    }
  }
  return line;
}

std::vector<std::string> write_folded(const Profile& profile, const FormatOptions& options, TextWriter& out) {
  uint64_t zero_stacks = 0;
  std::map<std::string, uint64_t> lines;
  for (size_t i = 0; i < profile.size(); ++i) {
    const Profile::Sample sample = profile.sample(i);
    if (sample.values.front() == 0) {
      ++zero_stacks;
      continue;
    }
    add_saturating(lines[folded_stack(profile, sample.frames, options.kernel_names)], sample.values.front());
  }
  for (const auto& [line, value] : lines) {
    out.write(fmt::format("{} {}\n", line, value));
  }
  std::vector<std::string> notes;
  note_zero_stacks(notes, zero_stacks);
  note_large_numbers(notes, profile.total());
  return notes;
}

extern const Format format_folded;
constinit const Format format_folded = {"folded", write_folded};

}  // namespace stackmap
