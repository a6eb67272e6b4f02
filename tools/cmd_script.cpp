// SPDX-License-Identifier: Apache-2.0
// stackmap script: the events of a capture as text, as the kernel's trace file prints them.
#include <memory>

#include "capture_input.h"
#include "commands.h"
#include "options.h"
#include "output.h"
#include "profile/event_source.h"
#include "render/script_text.h"

namespace stackmap {

namespace {

struct Options {
  Inputs inputs;
  FilterOptions filter;
  NameOptions names;
  ScriptOptions script;
};

Result<int> script(const Options& options) {
  if (options.names.asked() && !options.script.resolve) {
    return make_error(ErrorKind::kUsage, "names are printed with --resolve alone");
  }
  return with_capture(options.inputs, options.names,
                      [&](const Capture& capture, const LentNames* names) -> Result<void> {
                        ScriptOptions script_options = options.script;
                        STACKMAP_TRY_VALUE(filter, options.filter.filter(capture));
                        script_options.filter = std::move(filter);
                        if (capture.ledger().has("import.stale_cookies")) {
                          auto& generations = script_options.imported_generations.emplace();
                          for (const CapturedStack& stack : capture.stacks()) {
                            generations.insert(stack.cookie.generation());
                          }
                        }
                        const CaptureSource source(capture, names);
                        return write_stdout([&](TextWriter& out) -> Result<void> {
                          STACKMAP_TRY(write_script(source, script_options, out));
                          return {};
                        });
                      });
}

}  // namespace

void add_script(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("script", "The events as text, as ftrace prints them");
  add_input(*command, options->inputs);
  options->filter.add_to(*command);
  options->names.add_to(*command);
  command->add_flag("--resolve", options->script.resolve, "Print stacks in place of their cookies");
  command->callback([&action, options] { action = [options] { return script(*options); }; });
}

}  // namespace stackmap
