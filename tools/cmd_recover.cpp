// SPDX-License-Identifier: Apache-2.0
// stackmap recover: a clean capture of all that can be read of damaged ones.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "base/log.h"
#include "base/text.h"
#include "capture/copy_capture.h"
#include "capture_input.h"
#include "commands.h"
#include "exit_code.h"
#include "map_output.h"
#include "output.h"

namespace stackmap {

namespace {

struct Options {
  Inputs inputs;
  std::string output;
  bool force = false;
  bool quiet = false;
};

Result<CopyTotals> copy_to(const Capture& from, std::unique_ptr<WritableFile> file) {
  const CopyOptions options;
  STACKMAP_TRY_VALUE(writer, CaptureWriter::create(std::move(file), copy_info(from, options), from.event_types(),
                                                   copy_writer_options()));
  return copy_capture(from, *writer, options);
}

// The capture in its place, if anything is in it.
Result<CopyTotals> write_capture(const Capture& from, const CaptureOutput& output) {
  const auto nothing = [&](const CopyTotals& totals) {
    return totals.events + totals.stacks == 0 && (from.damage().any() || !from.damage().closed);
  };
  const auto failure = [&] {
    return make_error(ErrorKind::kCorrupt,
                      "nothing of " + from.name() + " can be saved: no event and no stack of it can be read");
  };
  if (output.capture == "-") {
    STACKMAP_TRY_VALUE(totals, copy_to(from, borrow_file(STDOUT_FILENO, "stdout")));
    return nothing(totals) ? Result<CopyTotals>(failure()) : Result<CopyTotals>(totals);
  }
  STACKMAP_TRY_VALUE(file, ReplacingFile::create(output.capture));
  STACKMAP_TRY_VALUE(totals, copy_to(from, share_file(file.file())));
  if (nothing(totals)) {
    return failure();
  }
  STACKMAP_TRY(file.commit());
  STACKMAP_TRY(write_map_of(output.capture, output.map));
  return totals;
}

std::string lost_text(const Capture& from, const CopyTotals& totals) {
  const Damage& damage = from.damage();
  std::string text;
  const auto put = [&](uint64_t n, std::string_view what) {
    if (n != 0) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", human_count(n), what);
    }
  };
  put(totals.events_lost, "events");
  put(totals.stacks_missing, "events' stacks (the events are kept without)");
  put(totals.strings_missing, "events' strings (they are '?')");
  put(damage.bad_blocks, "damaged blocks");
  put(damage.missing_blocks, "missing blocks");
  put(damage.bytes_skipped, "bytes between blocks");
  put(damage.torn_bytes, "bytes of an unfinished block");
  return text;
}

void tell(const Capture& from, const CopyTotals& totals, const CaptureOutput& output) {
  const std::string place =
      output.map.empty() ? "to stdout" : fmt::format("in {}, names in {}", output.capture, output.map);
  log_note(fmt::format("saved {} events, {} stacks {}", human_count(totals.events), human_count(totals.stacks), place));
  const std::string lost = lost_text(from, totals);
  log_note(lost.empty() ? "lost nothing that the files tell of" : "lost " + lost);
  for (const CaptureFile& file : from.files()) {
    if (!file.damage.closed) {
      log_note(file.name + " has no end: what its recorder had not written yet cannot be told");
    }
  }
  if (!from.missing_segments().empty()) {
    log_note(from.missing_segments());
  }
}

Result<int> recover(const Options& options) {
  set_quiet(options.quiet);
  STACKMAP_TRY_VALUE(output, choose_capture_output(options.output, options.force));
  STACKMAP_TRY_VALUE(from, open_capture(options.inputs));
  STACKMAP_TRY_VALUE(totals, write_capture(from, output));
  tell(from, totals, output);
  return kDone;
}

}  // namespace

void add_recover(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("recover", "A clean capture of all that can be read of damaged ones: NAME.smc and NAME.map");
  add_input(*command, options->inputs);
  command->add_option("-o,--output", options->output, "Write NAME.smc and NAME.map; '-': the capture to stdout")
      ->type_name("NAME")
      ->required();
  command->add_flag("--force", options->force, "Replace files that exist");
  command->add_flag("-q,--quiet", options->quiet, "No notes, errors alone");
  command->callback([&action, options] { action = [options] { return recover(*options); }; });
}

}  // namespace stackmap
