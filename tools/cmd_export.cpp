// SPDX-License-Identifier: Apache-2.0
// stackmap export: a capture in another tool's format.
#include <memory>

#include "base/log.h"
#include "capture_input.h"
#include "commands.h"
#include "options.h"
#include "output.h"
#include "render/format.h"

namespace stackmap {

namespace {

struct Options {
  Inputs inputs;
  OutputFile output;
  std::string format{formats().front()->name};
  ProfileOptions profile;
  bool kernel_suffix = false;
};

Result<void> write_export(const Options& options, const Capture& capture, const LentNames* lent) {
  const FormatOptions format{options.kernel_suffix ? KernelNames::kSuffixed : KernelNames::kPlain};
  STACKMAP_TRY_VALUE(profile, options.profile.make(capture, lent));
  std::vector<std::string> notes;
  STACKMAP_TRY(write_output(options.output, [&](TextWriter& out) -> Result<void> {
    notes = find_format(options.format)->write(profile, format, out);
    return {};
  }));
  for (const std::string& note : notes) {
    log_warning(note);
  }
  return {};
}

Result<int> export_capture(const Options& options) {
  return with_capture(options.inputs, options.profile.names, [&](const Capture& capture, const LentNames* lent) {
    return write_export(options, capture, lent);
  });
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("export", "Folded stacks, for other tools");
  add_input(*command, options->inputs);
  std::vector<std::string> names;
  for (const Format* format : formats()) {
    names.emplace_back(format->name);
  }
  command->add_option("--format", options->format, "The format")->check(CLI::IsMember(names))->capture_default_str();
  add_output(*command, options->output);
  options->profile.add_to(*command);
  command->add_flag("--kernel-suffix", options->kernel_suffix, "End kernel functions in _[k]");
  command->callback([&action, options] { action = [options] { return export_capture(*options); }; });
}

}  // namespace stackmap
