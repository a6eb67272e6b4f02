// SPDX-License-Identifier: Apache-2.0
// stackmap report: the heaviest stacks and functions of a capture, and what it lost.
#include <memory>

#include "capture_input.h"
#include "commands.h"
#include "options.h"
#include "output.h"
#include "render/losses.h"
#include "render/table.h"

namespace stackmap {

namespace {

struct Options {
  Inputs inputs;
  ProfileOptions profile;
  TableOptions table;
  bool by_total = false;
  bool only_stacks = false;
  bool only_functions = false;
  bool no_losses = false;
};

Result<void> write_report(const Options& options, const Capture& capture, const LentNames* lent) {
  TableOptions table = options.table;
  table.stacks = !options.only_functions;
  table.functions = !options.only_stacks;
  table.order = options.by_total ? FunctionOrder::kTotal : FunctionOrder::kSelf;
  STACKMAP_TRY_VALUE(profile, options.profile.make(capture, lent));
  return write_stdout([&](TextWriter& out) -> Result<void> {
    write_table(profile, table, out);
    if (!options.no_losses) {
      out.write("\n");
      write_losses(capture.ledger(), out);
    }
    return {};
  });
}

Result<int> report(const Options& options) {
  return with_capture(options.inputs, options.profile.names, [&](const Capture& capture, const LentNames* lent) {
    return write_report(options, capture, lent);
  });
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("report", "The heaviest stacks and functions, and what was lost");
  add_input(*command, options->inputs);
  options->profile.add_to(*command);
  command->add_option("--limit", options->table.limit, "Stacks and functions to show; 0: all")->capture_default_str();
  command->add_option("--frames", options->table.max_frames, "Frames to show of a stack; 0: all")
      ->capture_default_str();
  auto* stacks = command->add_flag("--stacks", options->only_stacks, "Stacks alone");
  command->add_flag("--functions", options->only_functions, "Functions alone")->excludes(stacks);
  command->add_flag("--by-total", options->by_total, "Sort functions by what passes through them");
  command->add_flag("--no-losses", options->no_losses, "Leave out the loss ledger");
  command->callback([&action, options] { action = [options] { return report(*options); }; });
}

}  // namespace stackmap
