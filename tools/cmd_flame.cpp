// SPDX-License-Identifier: Apache-2.0
// stackmap flame: a capture as a flame graph.
#include <unistd.h>

#include <memory>

#include "base/log.h"
#include "commands.h"
#include "exit_code.h"
#include "name_options.h"
#include "options.h"
#include "output.h"
#include "render/flame_svg.h"

namespace stackmap {

namespace {

struct Options {
  Inputs inputs;
  std::string output;
  std::string title;
  bool force = false;
  FilterOptions filter;
  WeightOptions weight;
  NameOptions names;
  FlameOptions flame;
};

Result<int> flame(const Options& options) {
  STACKMAP_TRY_VALUE(capture, open_capture(options.inputs));
  const std::string output =
      options.output.empty() && ::isatty(STDOUT_FILENO) != 0 ? capture_base(capture.name()) + ".svg" : options.output;
  if (!options.force && !output.empty() && output != "-") {
    STACKMAP_TRY(refuse_existing(output));
  }
  STACKMAP_TRY_VALUE(names, options.names.open(capture));
  STACKMAP_TRY_VALUE(made, make_profile(capture, options.filter, options.weight, names.get()));
  if (!options.title.empty()) {
    made.profile.title = options.title;
  }
  FlameSummary summary;
  STACKMAP_TRY(write_output(output, options.force, [&](TextWriter& out) -> Result<void> {
    summary = write_flame_svg(made.profile, options.flame, out);
    return {};
  }));
  for (const std::string& warning : summary.warnings) {
    log_warning(warning);
  }
  if (!output.empty() && output != "-") {
    log_note("wrote " + output + "; open it in a browser");
  }
  tell_damage(capture);
  return kDone;
}

}  // namespace

void add_flame(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("flame", "A flame graph (SVG)");
  add_input(*command, options->inputs);
  command->add_option("-o,--output", options->output, "The file; by default stdout, or NAME.svg on a terminal")
      ->type_name("FILE");
  command->add_flag("--force", options->force, "Replace the file if it exists");
  options->filter.add_to(*command);
  options->weight.add_to(*command);
  options->names.add_to(*command);
  command->add_option("--title", options->title, "Title; by default the capture's name");
  command->add_flag("--icicle", options->flame.icicle, "Root at the top");
  command->add_option("--width", options->flame.width, "Width in pixels")
      ->check(CLI::Range(200.0, 100000.0))
      ->capture_default_str();
  command->add_option("--min-width", options->flame.min_width, "Leave out frames narrower than this, in pixels")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  command->callback([&action, options] { action = [options] { return flame(*options); }; });
}

}  // namespace stackmap
