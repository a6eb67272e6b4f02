// SPDX-License-Identifier: Apache-2.0
// stackmap report: the heaviest stacks and functions of a capture, and what it lost.
#include <memory>

#include "commands.h"
#include "exit_code.h"
#include "name_options.h"
#include "options.h"
#include "output.h"
#include "render/losses.h"
#include "render/table.h"

namespace stackmap {

namespace {

struct Options {
  Inputs inputs;
  FilterOptions filter;
  WeightOptions weight;
  NameOptions names;
  TableOptions table;
  bool only_stacks = false;
  bool only_functions = false;
  bool no_losses = false;
};

Result<int> report(const Options& options) {
  STACKMAP_TRY_VALUE(capture, open_capture(options.inputs));
  STACKMAP_TRY_VALUE(names, options.names.open(capture));
  STACKMAP_TRY_VALUE(made, make_profile(capture, options.filter, options.weight, names.get()));
  TableOptions table = options.table;
  table.stacks = !options.only_functions;
  table.functions = !options.only_stacks;
  STACKMAP_TRY(write_output("", false, [&](TextWriter& out) -> Result<void> {
    write_table(made.profile, table, out);
    if (!options.no_losses) {
      out.write("\n");
      write_losses(capture.ledger(), out);
    }
    return {};
  }));
  tell_damage(capture);
  return kDone;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("report", "The heaviest stacks and functions, and what was lost");
  add_input(*command, options->inputs);
  options->filter.add_to(*command);
  options->weight.add_to(*command);
  options->names.add_to(*command);
  command->add_option("--limit", options->table.limit, "Stacks and functions to show; 0: all")->capture_default_str();
  command->add_option("--frames", options->table.max_frames, "Frames to show of a stack; 0: all")
      ->capture_default_str();
  auto* stacks = command->add_flag("--stacks", options->only_stacks, "Stacks alone");
  command->add_flag("--functions", options->only_functions, "Functions alone")->excludes(stacks);
  command->add_flag("--by-total", options->table.sort_by_total, "Sort functions by what passes through them");
  command->add_flag("--no-losses", options->no_losses, "Leave out the loss ledger");
  command->callback([&action, options] { action = [options] { return report(*options); }; });
}

}  // namespace stackmap
