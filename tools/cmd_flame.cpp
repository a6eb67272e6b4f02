// SPDX-License-Identifier: Apache-2.0
// stackmap flame: a capture as a flame graph.
#include <unistd.h>

#include <memory>

#include "base/log.h"
#include "capture_input.h"
#include "commands.h"
#include "options.h"
#include "output.h"
#include "render/flame_svg.h"

namespace stackmap {

namespace {

struct Options {
  Inputs inputs;
  OutputFile output;
  std::string title;
  ProfileOptions profile;
  FlameOptions flame;
  bool icicle = false;
};

Result<OutputFile> choose_output(const Options& options, const Capture& capture) {
  OutputFile output = options.output;
  if (output.path.empty() && ::isatty(STDOUT_FILENO) != 0) {
    output.path = capture_base(capture.name()) + ".svg";
  }
  if (!output.is_stdout() && !output.force) {
    STACKMAP_TRY(refuse_existing(output.path));
  }
  return output;
}

Result<void> write_flame(const Options& options, const Capture& capture, const LentNames* lent) {
  STACKMAP_TRY_VALUE(output, choose_output(options, capture));
  STACKMAP_TRY_VALUE(profile, options.profile.make(capture, lent));
  if (!options.title.empty()) {
    profile.title = options.title;
  }
  FlameOptions flame = options.flame;
  flame.root = options.icicle ? FlameRoot::kTop : FlameRoot::kBottom;
  FlameSummary summary;
  STACKMAP_TRY(write_output(output, [&](TextWriter& out) -> Result<void> {
    summary = write_flame_svg(profile, flame, out);
    return {};
  }));
  for (const std::string& warning : summary.warnings) {
    log_warning(warning);
  }
  if (!output.is_stdout()) {
    log_note("wrote " + output.path + "; open it in a browser");
  }
  return {};
}

Result<int> flame(const Options& options) {
  return with_capture(options.inputs, options.profile.names, [&](const Capture& capture, const LentNames* lent) {
    return write_flame(options, capture, lent);
  });
}

}  // namespace

void add_flame(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("flame", "A flame graph (SVG)");
  add_input(*command, options->inputs);
  add_output(*command, options->output, "stdout, or NAME.svg on a terminal");
  options->profile.add_to(*command);
  command->add_option("--title", options->title, "Title; by default the capture's name");
  command->add_flag("--icicle", options->icicle, "Root at the top");
  command->add_option("--width", options->flame.width, "Width in pixels")
      ->check(CLI::Range(200.0, 100000.0))
      ->capture_default_str();
  command->add_option("--min-width", options->flame.min_width, "Leave out frames narrower than this, in pixels")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  command->callback([&action, options] { action = [options] { return flame(*options); }; });
}

}  // namespace stackmap
