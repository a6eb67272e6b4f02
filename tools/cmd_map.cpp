// SPDX-License-Identifier: Apache-2.0
// stackmap map: the stacks of a capture, resolved, in the kernel's stack_map text.
#include <memory>

#include "capture/map_file.h"
#include "commands.h"
#include "exit_code.h"
#include "options.h"
#include "output.h"

namespace stackmap {

namespace {

struct Options {
  std::string input;
  std::string output;
  bool force = false;
};

Result<int> map(const Options& options) {
  STACKMAP_TRY_VALUE(capture, open_capture(options.input));
  STACKMAP_TRY(write_output(options.output, options.force, [&](TextWriter& out) -> Result<void> {
    STACKMAP_TRY_VALUE(stacks, capture.counted_stacks());
    write_map_file(
        stacks, [&](uint64_t address) { return capture.symbol_text(address); }, out);
    return {};
  }));
  tell_damage(capture);
  return kDone;
}

}  // namespace

void add_map(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("map", "Every stack with its cookie, in the kernel's stack_map text");
  add_input(*command, options->input);
  command->add_option("-o,--output", options->output, "The file; by default stdout")->type_name("FILE");
  command->add_flag("--force", options->force, "Replace the file if it exists");
  command->callback([&action, options] { action = [options] { return map(*options); }; });
}

}  // namespace stackmap
