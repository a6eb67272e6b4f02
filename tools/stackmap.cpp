// SPDX-License-Identifier: Apache-2.0
// The `stackmap` command.
#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>

#include "base/log.h"
#include "commands.h"
#include "exit_code.h"

namespace {

void add_commands(CLI::App& app, stackmap::Action& action) {
#ifdef STACKMAP_WITH_BPF
  stackmap::add_record(app, action);
#endif
  stackmap::add_report(app, action);
  stackmap::add_flame(app, action);
  stackmap::add_export(app, action);
  stackmap::add_script(app, action);
  stackmap::add_map(app, action);
  stackmap::add_stat(app, action);
  stackmap::add_inspect(app, action);
  stackmap::add_recover(app, action);
  stackmap::add_import(app, action);
#ifdef STACKMAP_WITH_BPF
  stackmap::add_ctl(app, action);
  stackmap::add_check(app, action);
  stackmap::add_list(app, action);
#endif
}

int run(int argc, char** argv) {
  CLI::App app("Records kernel events with their stacks, each distinct stack once, and shows where they come from.",
               "stackmap");
  app.set_version_flag("-V,--version", "stackmap " STACKMAP_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(36);
  stackmap::Action action;
  add_commands(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {
    return app.exit(wanted);
  } catch (const CLI::ParseError& error) {
    stackmap::log_error(std::string(error.what()) + " (try --help)");
    return stackmap::kUsageExit;
  }
  auto done = action();
  if (!done) {
    const stackmap::Error& error = done.error();
    const bool usage = error.kind == stackmap::ErrorKind::kUsage;
    stackmap::log_error(error.message() + (usage && error.remedy.empty() ? " (try --help)" : ""));
    return exit_code(error);
  }
  return *done;
}

}  // namespace

int main(int argc, char** argv) {
  // A closed pipe is a write error like any other.
  (void)std::signal(SIGPIPE, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    stackmap::log_error("out of memory");
  } catch (const std::exception& error) {
    stackmap::log_error(error.what());
  }
  return stackmap::kFailedExit;
}
