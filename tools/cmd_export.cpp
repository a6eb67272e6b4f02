// SPDX-License-Identifier: Apache-2.0
// stackmap export: a capture in another tool's format.
#include <memory>

#include "base/log.h"
#include "commands.h"
#include "exit_code.h"
#include "name_options.h"
#include "options.h"
#include "output.h"
#include "render/folded.h"

namespace stackmap {

namespace {

struct Options {
  Inputs inputs;
  std::string output;
  std::string format = "folded";
  bool force = false;
  FilterOptions filter;
  WeightOptions weight;
  NameOptions names;
  FoldedOptions folded;
};

Result<int> export_capture(const Options& options) {
  STACKMAP_TRY_VALUE(capture, open_capture(options.inputs));
  STACKMAP_TRY_VALUE(names, options.names.open(capture));
  STACKMAP_TRY_VALUE(made, make_profile(capture, options.filter, options.weight, names.get()));
  FoldedSummary summary;
  STACKMAP_TRY(write_output(options.output, options.force, [&](TextWriter& out) -> Result<void> {
    summary = write_folded(made.profile, options.folded, out);
    return {};
  }));
  for (const std::string& note : summary.notes) {
    log_warning(note);
  }
  tell_damage(capture);
  return kDone;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("export", "Folded stacks, for other tools");
  add_input(*command, options->inputs);
  command->add_option("--format", options->format, "The format")
      ->check(CLI::IsMember({"folded"}))
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "The file; by default stdout")->type_name("FILE");
  command->add_flag("--force", options->force, "Replace the file if it exists");
  options->filter.add_to(*command);
  options->weight.add_to(*command);
  options->names.add_to(*command);
  command->add_flag("--kernel-suffix", options->folded.kernel_suffix, "End kernel functions in _[k]");
  command->callback([&action, options] { action = [options] { return export_capture(*options); }; });
}

}  // namespace stackmap
