// SPDX-License-Identifier: Apache-2.0
// stackmap stat: the stack map's statistics, in the kernel's stack_map_stat text.
#include <fmt/format.h>

#include <memory>

#include "base/log.h"
#include "capture_input.h"
#include "commands.h"
#include "options.h"
#include "output.h"

namespace stackmap {

namespace {

Result<void> write_stat(const Capture& capture) {
  bool has_map = false;
  STACKMAP_TRY(write_stdout([&](TextWriter& out) -> Result<void> {
    // In the order in which they were stored: as a running recorder's `ctl stat` prints them.
    for (const std::string_view prefix : {"map.", "cache."}) {
      for (const auto& [name, value] : capture.ledger().entries()) {
        if (name.starts_with(prefix)) {
          const std::string family = prefix == "map." ? "" : std::string(prefix.substr(0, prefix.size() - 1)) + "_";
          const std::string key = family + name.substr(prefix.size());
          out.write(fmt::format("{}: {}\n", key, value));
          has_map = has_map || prefix == "map.";
        }
      }
    }
    return {};
  }));
  if (!has_map) {
    log_note(capture.ledger().has("import.events")
                 ? capture.name() + " was imported: what it was made of has no statistics of a stack map"
                 : capture.name() + " has no statistics of a stack map: its recorder did not come to write them");
  }
  return {};
}

}  // namespace

void add_stat(CLI::App& app, Action& action) {
  auto inputs = std::make_shared<Inputs>();
  CLI::App* command = app.add_subcommand("stat", "The stack map's statistics, in the kernel's stack_map_stat text");
  add_input(*command, *inputs);
  command->callback([&action, inputs] {
    action = [inputs] {
      return with_capture(*inputs, {}, [](const Capture& capture, const LentNames*) { return write_stat(capture); });
    };
  });
}

}  // namespace stackmap
