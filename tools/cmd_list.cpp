// SPDX-License-Identifier: Apache-2.0
// stackmap list: the events that -e takes.
#include <fmt/format.h>
#include <fnmatch.h>

#include <memory>

#include "collector/tracefs.h"
#include "commands.h"
#include "exit_code.h"
#include "output.h"
#include "record/kinds.h"
#include "record/trace_kinds.h"

namespace stackmap {

namespace {

Result<int> list(const std::string& pattern) {
  STACKMAP_TRY_VALUE(tracefs, TraceFs::open());
  STACKMAP_TRY_VALUE(tracepoints, tracefs.tracepoints());
  const std::string glob = pattern.find(':') == std::string::npos ? pattern + ":*" : pattern;
  size_t shown = 0;
  STACKMAP_TRY(write_stdout([&](TextWriter& out) -> Result<void> {
    for (const Tracepoint& tracepoint : tracepoints) {
      if (!pattern.empty() && ::fnmatch(glob.c_str(), tracepoint.full_name().c_str(), 0) != 0) {
        continue;
      }
      ++shown;
      const KindInfo* kind = find_kind(tracepoint.category, tracepoint.name);
      const bool fields = (kind != nullptr && kind->can_be_asked_for()) ||
                          find_trace_kind(tracepoint.category, tracepoint.name) != nullptr;
      out.write(fmt::format("{}{}\n", tracepoint.full_name(), fields ? "  (with its fields)" : ""));
    }
    return {};
  }));
  if (shown == 0) {
    return make_error(ErrorKind::kUnsupported, "no event of this kernel matches '" + pattern + "'");
  }
  return kDone;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  auto pattern = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("list", "The events that record -e takes");
  command->add_option("PATTERN", *pattern, "Only these: a category or a glob over category:name");
  command->callback([&action, pattern] { action = [pattern] { return list(*pattern); }; });
}

}  // namespace stackmap
