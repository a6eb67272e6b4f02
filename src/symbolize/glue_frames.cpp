// SPDX-License-Identifier: Apache-2.0
#include "symbolize/glue_frames.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stackmap {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}

// `text` is `prefix` and one or more decimal digits.
bool is_numbered(std::string_view text, std::string_view prefix) {
  return text.size() > prefix.size() && text.starts_with(prefix) &&
         std::all_of(text.begin() + static_cast<std::ptrdiff_t>(prefix.size()), text.end(), is_digit);
}

// "bpf_prog_<16 hex digits>", alone or with "_<name>": an image, not one of the kernel's own bpf_prog_* functions.
bool is_bpf_image(std::string_view name) {
  static constexpr std::string_view kPrefix = "bpf_prog_";
  static constexpr size_t kTagDigits = 16;
  if (!name.starts_with(kPrefix)) {
    return false;
  }
  name.remove_prefix(kPrefix.size());
  if (name.size() < kTagDigits) {
    return false;
  }
  const std::string_view tag = name.substr(0, kTagDigits);
  return std::all_of(tag.begin(), tag.end(), is_lower_hex) && (name.size() == kTagDigits || name[kTagDigits] == '_');
}

// perf_trace_<event> runs perf's side of an event; these only share the prefix: they set events up and take them down.
bool is_perf_setup(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kSetup = {
      "perf_trace_init",        "perf_trace_destroy",    "perf_trace_add",         "perf_trace_del",
      "perf_trace_event_init",  "perf_trace_event_reg",  "perf_trace_event_unreg", "perf_trace_event_open",
      "perf_trace_event_close", "perf_trace_event_perm", "perf_trace_buf_alloc",   "perf_trace_buf_update"};
  return std::find(kSetup.begin(), kSetup.end(), name) != kSetup.end();
}

}  // namespace

bool is_glue_symbol(const KernelSymbol& symbol) {
  if (!symbol.known()) {
    return false;
  }
  if (symbol.module == "bpf") {
    return true;
  }
  const std::string_view full = symbol.name;
  const std::string_view name = full.substr(0, full.find('.'));  // without .isra.0 and the like
  static constexpr std::array<std::string_view, 7> kPrefixes = {
      "__bpf_trace_",  "__traceiter_",    "trace_event_raw_event_", "bpf_trampoline_",
      "bpf_get_stack", "__bpf_get_stack", "bpf_get_task_stack"};
  static constexpr std::array<std::string_view, 4> kNames = {"trace_call_bpf", "get_perf_callchain",
                                                             "perf_callchain_kernel", "___bpf_prog_run"};
  return is_bpf_image(name) || is_numbered(name, "bpf_trace_run") || is_numbered(name, "__bpf_prog_run") ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](auto prefix) { return name.starts_with(prefix); }) ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         (name.starts_with("perf_trace_") && !is_perf_setup(name));
}

size_t glue_frames(std::span<const KernelSymbol> symbols) {
  size_t glue = 0;
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (is_glue_symbol(symbols[i])) {
      const bool after_nameless = i != glue;
      if (after_nameless && i >= kGlueReach) {
        break;
      }
      glue = i + 1;
    } else if (symbols[i].known()) {
      break;
    }
  }
  return glue;
}

}  // namespace stackmap
