// SPDX-License-Identifier: Apache-2.0
// stackmap import: what other tracers saved, as a capture.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "commands.h"
#include "exit_code.h"
#include "import/imports.h"
#include "map_output.h"
#include "output.h"

namespace stackmap {

namespace {

constexpr size_t kMaxInput = size_t{4} << 30;

struct Options {
  std::string file;
  std::vector<std::string> maps;
  std::string output = "stackmap";
  bool force = false;
  bool quiet = false;
};

Result<NamedText> read_input(const std::string& path) {
  if (path == "-") {
    STACKMAP_TRY_VALUE(text, read_text_fd(STDIN_FILENO, "stdin", kMaxInput));
    return NamedText{"stdin", std::move(text)};
  }
  STACKMAP_TRY_VALUE(text, read_text_file(path, kMaxInput));
  return NamedText{path, std::move(text)};
}

CaptureInfo info_of(const ImportFormat& format, const Options& options) {
  CaptureInfo info;
  info.tool = "stackmap " STACKMAP_VERSION;
  info.command = fmt::format("stackmap import {} {}", format.name, options.file);
  for (const std::string& map : options.maps) {
    info.command += " --map " + map;
  }
  info.command += " -o " + options.output;
  info.symbol_source = format.symbol_source;
  return info;
}

Result<void> write_capture(const CaptureBuilder& capture, const CaptureOutput& output, const CaptureInfo& info) {
  if (output.capture == "-") {
    return capture.write(borrow_file(STDOUT_FILENO, "stdout"), info);
  }
  STACKMAP_TRY_VALUE(file, ReplacingFile::create(output.capture));
  STACKMAP_TRY(capture.write(share_file(file.file()), info));
  STACKMAP_TRY(file.commit());
  STACKMAP_TRY(write_map_of(output.capture, output.map));
  return {};
}

void tell(const Import& import, const CaptureOutput& output) {
  for (const std::string& warning : import.warnings) {
    log_warning(warning);
  }
  std::string closing = fmt::format("events: {}, stacks: {}", human_count(import.capture.events()),
                                    human_count(import.capture.stacks().size()));
  closing += output.map.empty() ? " to stdout" : fmt::format(" in {}, names in {}", output.capture, output.map);
  if (!import.summary.empty()) {
    closing += "; " + import.summary;
  }
  log_note(closing);
}

Result<int> run_import(const ImportFormat& format, const Options& options) {
  set_quiet(options.quiet);
  STACKMAP_TRY_VALUE(output, choose_capture_output(options.output, options.force));
  STACKMAP_TRY_VALUE(file, read_input(options.file));
  ImportInput input{std::move(file), {}};
  for (const std::string& path : options.maps) {
    STACKMAP_TRY_VALUE(map, read_input(path));
    input.maps.push_back(std::move(map));
  }
  STACKMAP_TRY_VALUE(import, format.read(input));
  STACKMAP_TRY(write_capture(import.capture, output, info_of(format, options)));
  tell(import, output);
  return kDone;
}

void add_format(CLI::App& parent, const ImportFormat& format, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = parent.add_subcommand(std::string(format.name), std::string(format.help));
  command->add_option(std::string(format.file), options->file, std::string(format.file_help))->required();
  if (!format.maps_help.empty()) {
    command->add_option("--map", options->maps, std::string(format.maps_help))
        ->allow_extra_args(false)
        ->type_name("FILE");
  }
  command->add_option("-o,--output", options->output, "Write NAME.smc and NAME.map; '-': the capture to stdout")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_flag("--force", options->force, "Replace files that exist");
  command->add_flag("-q,--quiet", options->quiet, "No notes, errors and warnings alone");
  command->callback(
      [&action, &format, options] { action = [&format, options] { return run_import(format, *options); }; });
}

}  // namespace

void add_import(CLI::App& app, Action& action) {
  CLI::App* import = app.add_subcommand("import", "Make a capture of what another tracer saved");
  import->require_subcommand(1);
  for (const ImportFormat& format : import_formats()) {
    add_format(*import, format, action);
  }
}

}  // namespace stackmap
