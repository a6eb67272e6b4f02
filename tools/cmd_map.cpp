// SPDX-License-Identifier: Apache-2.0
// stackmap map: the stacks of a capture, resolved, in the kernel's stack_map text, as JSON, or for other programs.
#include <limits>
#include <memory>

#include "capture/map_binary_writer.h"
#include "capture/map_file.h"
#include "capture_input.h"
#include "commands.h"
#include "options.h"
#include "output.h"
#include "profile/event_source.h"

namespace stackmap {

namespace {

struct Options {
  Inputs inputs;
  NameOptions names;
  OutputFile output;
  std::string format = "text";
  uint32_t generation = 0;  // 0: all of them, or the last one where a format holds only one
};

Result<void> write_text(const Capture& capture, uint32_t number,
                        const std::function<std::string(uint64_t)>& symbol_text, TextWriter& out) {
  if (number != 0) {
    STACKMAP_TRY_VALUE(generation, map_generation(capture, number));
    write_map_file(generation.stacks, symbol_text, out);
    return {};
  }
  STACKMAP_TRY_VALUE(stacks, capture.counted_stacks());
  write_map_file(stacks, symbol_text, out);
  return {};
}

Result<int> map(const Options& options) {
  if (options.format == "bin") {
    STACKMAP_TRY(refuse_terminal(options.output.path, "a map in this format"));
  }
  return with_capture(options.inputs, options.names, [&](const Capture& capture, const LentNames* names) {
    const CaptureSource source(capture, names);
    const auto symbol_text = [&](uint64_t address) { return source.symbol_text(address); };
    return write_output(options.output, [&](TextWriter& out) -> Result<void> {
      if (options.format == "text") {
        return write_text(capture, options.generation, symbol_text, out);
      }
      STACKMAP_TRY_VALUE(generation, map_generation(capture, options.generation));
      if (options.format == "bin") {
        return write_map_binary(generation, out);
      }
      write_map_json(generation, symbol_text, out);
      return {};
    });
  });
}

}  // namespace

void add_map(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("map", "Every stack with its cookie, in the kernel's stack_map text");
  add_input(*command, options->inputs);
  options->names.add_to(*command);
  command
      ->add_option("--format", options->format,
                   "text; bin: frames as addresses, for programs (map_binary.h reads it); or json")
      ->check(CLI::IsMember({"text", "bin", "json"}))
      ->capture_default_str();
  command
      ->add_option("--generation", options->generation,
                   "Only this generation; by default all of them as text, else the last one")
      ->type_name("G")
      ->check(CLI::Range(uint32_t{1}, std::numeric_limits<uint32_t>::max()));
  add_output(*command, options->output);
  command->callback([&action, options] { action = [options] { return map(*options); }; });
}

}  // namespace stackmap
