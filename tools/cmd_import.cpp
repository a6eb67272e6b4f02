// SPDX-License-Identifier: Apache-2.0
// stackmap import: what other tracers saved, as a capture.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "commands.h"
#include "exit_code.h"
#include "import/ftrace_import.h"
#include "map_output.h"
#include "output.h"

namespace stackmap {

namespace {

constexpr size_t kMaxInput = size_t{4} << 30;

struct Options {
  std::string trace;
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

CaptureInfo info_of(const Options& options) {
  CaptureInfo info;
  info.tool = "stackmap " STACKMAP_VERSION;
  info.command = "stackmap import ftrace " + options.trace;
  for (const std::string& map : options.maps) {
    info.command += " --map " + map;
  }
  info.command += " -o " + options.output;
  info.symbol_source = "the text of the trace and of its stack_map files";
  return info;
}

Result<void> write_capture(const FtraceImport& import, const CaptureOutput& output, const CaptureInfo& info) {
  if (output.capture == "-") {
    return import.write(borrow_file(STDOUT_FILENO, "stdout"), info);
  }
  STACKMAP_TRY_VALUE(file, ReplacingFile::create(output.capture));
  STACKMAP_TRY(import.write(share_file(file.file()), info));
  STACKMAP_TRY(file.commit());
  STACKMAP_TRY(write_map_of(output.capture, output.map));
  return {};
}

void tell(const FtraceImport& import, const CaptureOutput& output) {
  const ImportCounts& counts = import.counts();
  if (counts.skipped_lines != 0) {
    log_warning(fmt::format("lines that were not understood and are left out: {}; the first: {}",
                            human_count(counts.skipped_lines), import.first_skipped()));
  }
  if (counts.stale_cookies != 0) {
    log_warning(
        fmt::format("events with a cookie of a generation that no --map is of: {}; 'script --resolve' says which",
                    human_count(counts.stale_cookies)));
  }
  if (counts.unknown_cookies != 0) {
    log_warning(fmt::format(
        "events with a cookie that is not in the stack_map of its generation, which was saved too early: {}",
        human_count(counts.unknown_cookies)));
  }
  std::string closing = fmt::format("events: {}, stacks: {}", human_count(counts.events), human_count(counts.stacks));
  closing += output.map.empty() ? " to stdout" : fmt::format(" in {}, names in {}", output.capture, output.map);
  if (counts.lost_events + counts.lost_uncounted + counts.overwritten != 0) {
    closing += fmt::format("; lost, as the trace says: {}; overwritten entries: {}", human_count(counts.lost_events),
                           human_count(counts.overwritten));
  }
  log_note(closing);
}

Result<int> import_ftrace(const Options& options) {
  set_quiet(options.quiet);
  STACKMAP_TRY_VALUE(output, choose_capture_output(options.output, options.force));
  STACKMAP_TRY_VALUE(trace, read_input(options.trace));
  std::vector<NamedText> maps;
  for (const std::string& path : options.maps) {
    STACKMAP_TRY_VALUE(map, read_input(path));
    maps.push_back(std::move(map));
  }
  STACKMAP_TRY_VALUE(import, FtraceImport::read(trace, maps));
  STACKMAP_TRY(write_capture(import, output, info_of(options)));
  tell(import, output);
  return kDone;
}

}  // namespace

void add_import(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* import = app.add_subcommand("import", "Make a capture of what another tracer saved");
  import->require_subcommand(1);
  CLI::App* command = import->add_subcommand(
      "ftrace", "The trace of a kernel with the ftrace stack map series, and its stack_map: NAME.smc and NAME.map");
  command->add_option("TRACE", options->trace, "A saved 'trace' of tracefs; '-': stdin")->required();
  command->add_option("--map", options->maps, "A saved 'stack_map' of tracefs; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  command->add_option("-o,--output", options->output, "Write NAME.smc and NAME.map; '-': the capture to stdout")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_flag("--force", options->force, "Replace files that exist");
  command->add_flag("-q,--quiet", options->quiet, "No notes, errors and warnings alone");
  command->callback([&action, options] { action = [options] { return import_ftrace(*options); }; });
}

}  // namespace stackmap
