// SPDX-License-Identifier: Apache-2.0
// stackmap ctl: commands to a running recording that was started with --control.
#include <fmt/format.h>

#include <memory>

#include "base/log.h"
#include "commands.h"
#include "exit_code.h"
#include "map_output.h"
#include "options.h"
#include "output.h"
#include "session/control_socket.h"

namespace stackmap {

namespace {

struct Options {
  std::string recording;
  std::string command;
};

Result<int> ctl(const Options& options) {
  STACKMAP_TRY_VALUE(path, control_path(options.recording));
  STACKMAP_TRY_VALUE(answer, control_command(path, options.command));
  if (options.command != "snapshot") {
    STACKMAP_TRY(write_stdout([&](TextWriter& out) -> Result<void> {
      out.write(answer);
      return {};
    }));
    return kDone;
  }
  // The recording has written what was pending; the names are put beside it here, so as not to hold it up.
  const std::string capture = answer.substr(0, answer.find('\n'));
  if (capture.empty() || capture == "-") {
    return make_error(ErrorKind::kFailed, "the recording writes to a pipe: there is nothing to put a map file beside");
  }
  if (answer.substr(capture.size()) == "\nnamed\n") {
    log_note(capture + " is written");
    return kDone;
  }
  const std::string map = capture_base(capture) + ".map";
  STACKMAP_TRY_VALUE(stacks, write_map_of(capture, map));
  log_note(fmt::format("{} holds all until now, {} the names of {} stacks", capture, map, stacks));
  return kDone;
}

}  // namespace

void add_ctl(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("ctl", "Control a recording that was started with --control");
  command->add_option("RECORDING", options->recording, "Its name, or the path of its socket")->required();
  command
      ->add_option(
          "COMMAND", options->command,
          "reset: begin a new generation. off, on: no cookies, and cookies again. free: drop the map, once it is off. "
          "stat, map: as the kernel's files. snapshot: write all until now. stop: end the recording")
      ->required()
      ->check(CLI::IsMember({"reset", "on", "off", "free", "stat", "map", "snapshot", "stop"}));
  command->callback([&action, options] { action = [options] { return ctl(*options); }; });
}

}  // namespace stackmap
