// SPDX-License-Identifier: Apache-2.0
// stackmap stat: the stack map's statistics, in the kernel's stack_map_stat text, and the account of what was lost.
#include <memory>

#include "base/log.h"
#include "capture/losses.h"
#include "capture_input.h"
#include "commands.h"
#include "options.h"
#include "output.h"

namespace stackmap {

namespace {

Result<void> write_stat(const Capture& capture) {
  STACKMAP_TRY(write_stdout([&](TextWriter& out) -> Result<void> {
    out.write(stat_text(capture.ledger()));
    return {};
  }));
  if (!capture.ledger().has("map.generation")) {
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
