// SPDX-License-Identifier: Apache-2.0
// stackmap export: a capture in another tool's format.
#include <memory>

#include "base/log.h"
#include "capture_input.h"
#include "commands.h"
#include "options.h"
#include "output.h"
#include "render/folded.h"

namespace stackmap {

namespace {

struct Options {
  Inputs inputs;
  OutputFile output;
  std::string format = "folded";
  ProfileOptions profile;
  bool kernel_suffix = false;
};

Result<int> export_capture(const Options& options) {
  return with_profile(options.inputs, options.profile, [&](const Capture&, const Profile& profile) -> Result<void> {
    FoldedSummary summary;
    STACKMAP_TRY(write_output(options.output, [&](TextWriter& out) -> Result<void> {
      summary = write_folded(profile, options.kernel_suffix ? KernelNames::kSuffixed : KernelNames::kPlain, out);
      return {};
    }));
    for (const std::string& note : summary.notes) {
      log_warning(note);
    }
    return {};
  });
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("export", "Folded stacks, for other tools");
  add_input(*command, options->inputs);
  command->add_option("--format", options->format, "The format")
      ->check(CLI::IsMember({"folded"}))
      ->capture_default_str();
  add_output(*command, options->output);
  options->profile.add_to(*command);
  command->add_flag("--kernel-suffix", options->kernel_suffix, "End kernel functions in _[k]");
  command->callback([&action, options] { action = [options] { return export_capture(*options); }; });
}

}  // namespace stackmap
