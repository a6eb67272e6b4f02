// SPDX-License-Identifier: Apache-2.0
// stackmap record: the main job.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "base/bytes.h"
#include "base/log.h"
#include "base/text.h"
#include "capture/losses.h"
#include "collector/bpf_namer.h"
#include "collector/kernel_source.h"
#include "commands.h"
#include "exit_code.h"
#include "map_output.h"
#include "options.h"
#include "output.h"
#include "record_options.h"
#include "render/losses.h"
#include "session/command.h"
#include "session/recording.h"
#include "store/segment_files.h"
#include "symbolize/chain_namer.h"
#include "symbolize/kallsyms.h"

namespace stackmap {

namespace {

// The line that is drawn over and over on a terminal.
class LiveLine {
 public:
  LiveLine() : on_(::isatty(STDERR_FILENO) != 0) {}
  bool on() const { return on_; }

  void draw(const Progress& p) {
    put(fmt::format("\r{:7.1f} s  {} events  {} stacks  {} lost  {:.1f} MB\x1b[K",
                    static_cast<double>(p.elapsed_ns) / 1e9, human_count(p.events), human_count(p.stacks),
                    human_count(p.lost), static_cast<double>(p.bytes) / 1e6));
    drawn_ = true;
  }
  void erase() {
    if (drawn_) {
      put("\r\x1b[K");
      drawn_ = false;
    }
  }

 private:
  static void put(const std::string& text) {
    (void)write_all(STDERR_FILENO, bytes_of(text), "stderr");  // nowhere left to report it
  }
  bool on_;
  bool drawn_ = false;
};

// NAME-000001, or the number behind the highest that is there.
std::string next_name(const std::string& base) {
  const std::vector<uint64_t> there = find_segments(base);
  return capture_base(segment_path(base, there.empty() ? 1 : there.back() + 1));
}

// Segments that are there are continued, replaced, or a reason to refuse.
Result<void> prepare_segments(const RecordOptions& options) {
  const std::string base = capture_base(options.output);
  STACKMAP_TRY(choose_capture_output(base + "-000001", true));  // the directory
  for (const uint64_t number : find_segments(base)) {
    const std::string path = segment_path(base, number);
    if (!options.numbered && !options.force) {
      return make_error(ErrorKind::kExists, path + " exists",
                        "give another name with -o, --numbered to go on behind it, or --force to replace all of them");
    }
    if (!options.numbered) {
      for (const std::string& file : {path, capture_base(path) + ".map"}) {
        if (::unlink(file.c_str()) != 0 && errno != ENOENT) {
          return errno_error("cannot replace " + file);
        }
      }
    }
  }
  return {};
}

Result<CaptureOutput> choose_output(const RecordOptions& options) {
  if (makes_several(options) && options.output != "-") {
    STACKMAP_TRY(prepare_segments(options));
    return CaptureOutput{capture_base(options.output), ""};
  }
  const bool numbered = options.numbered && options.output != "-";
  return choose_capture_output(numbered ? next_name(capture_base(options.output)) : options.output, options.force);
}

// What a recording of several captures has left.
std::string files_text(const RecordOptions& options, const RecordingResult& result) {
  const std::string base = capture_base(options.output);
  const std::string removed =
      result.removed == 0 ? "" : fmt::format(", {} older ones have made room", human_count(result.removed));
  if (options.flight_record.empty()) {
    return fmt::format(", {} in {} captures {}-*.smc{}", human_size(result.total.bytes), result.segments, base,
                       removed);
  }
  return result.snapshots.empty()
             ? ", no snapshot"
             : fmt::format(", {} snapshot{}, the last one {}{}", result.snapshots.size(),
                           result.snapshots.size() == 1 ? "" : "s", result.snapshots.back(), removed);
}

// The closing line, the map file, and what was lost.
Result<int> finish(const RecordOptions& options, const CaptureOutput& output, const RecordingResult& result) {
  std::string closing =
      fmt::format("{} events, {} stacks in {:.1f} s", human_count(result.total.events),
                  human_count(result.total.stacks), static_cast<double>(result.total.elapsed_ns) / 1e9);
  if (makes_several(options)) {
    closing += files_text(options, result);
  } else if (output.map.empty()) {
    closing += fmt::format(", {} to stdout", human_size(result.total.bytes));
  } else {
    STACKMAP_TRY(write_map_of(output.capture, output.map));
    closing += fmt::format(", {} in {}, names in {}", human_size(result.total.bytes), output.capture, output.map);
  }
  log_note(closing);
  if (result.command_status) {
    const std::string how = Command::describe(*result.command_status);
    if (!how.empty()) {
      log_note(options.command.front() + " " + how);
    }
  }
  const double lost = account_of(result.ledger).lost_share() * 100;
  if (!options.quiet) {
    const auto err = borrow_file(STDERR_FILENO, "stderr");
    TextWriter writer(*err);
    write_losses(result.ledger, writer);
    (void)writer.flush();  // nowhere left to report it
  }
  if (options.max_loss >= 0 && lost > options.max_loss) {
    log_error(fmt::format("{:.3f} % of the events were lost, more than --max-loss {}", lost, options.max_loss));
    return kTooMuchLost;
  }
  return kDone;
}

// Of a recording that has not begun.
void remove_empty_segments(const std::string& base, const std::vector<uint64_t>& before) {
  for (const uint64_t number : find_segments(base)) {
    if (std::ranges::find(before, number) == before.end()) {
      (void)::unlink(segment_path(base, number).c_str());  // an empty capture does no harm
    }
  }
}

// The kernel itself, or where it does not tell, its list of symbols.
Result<std::unique_ptr<ChainNamer>> open_namer() {
  const auto ask_the_kernel = []() -> Result<std::unique_ptr<KernelNamer>> {
    auto kernel = BpfNamer::create();
    if (!kernel) {
      Error error = std::move(kernel).error();
      if (error.kind == ErrorKind::kPrivilege) {
        error.remedy = "run as root, outside of a restricted container";
      }
      return error;
    }
    return std::unique_ptr<KernelNamer>(std::move(kernel).value());
  };
  const auto load_the_list = []() -> Result<std::unique_ptr<KernelNamer>> {
    STACKMAP_TRY_VALUE(kallsyms, Kallsyms::load());
    return std::unique_ptr<KernelNamer>(new Kallsyms(std::move(kallsyms)));
  };
  auto namer = std::make_unique<ChainNamer>(std::vector<ChainNamer::Open>{ask_the_kernel, load_the_list});
  STACKMAP_TRY(namer->open());
  for (const Error& failure : namer->failures()) {
    log_note(failure.message() + "; using " + namer->source());
  }
  return namer;
}

Result<RecordingResult> record_the_kernel(const RecordingOptions& options, LibbpfLog log, const RecordingHooks& hooks) {
  STACKMAP_TRY_VALUE(source, KernelSource::create(log));
  STACKMAP_TRY_VALUE(namer, open_namer());
  return Recording::run(options, *source, namer.get(), hooks);
}

Result<int> record(const RecordOptions& options) {
  set_quiet(options.quiet);
  STACKMAP_TRY_VALUE(output, choose_output(options));
  STACKMAP_TRY_VALUE(recording, recording_options(options));
  const std::vector<uint64_t> before = find_segments(capture_base(options.output));
  LiveLine live;
  bool file_made = false;
  RecordingHooks hooks;
  hooks.open_file = [&]() -> Result<std::unique_ptr<WritableFile>> {
    if (output.capture == "-") {
      return borrow_file(STDOUT_FILENO, "stdout");
    }
    file_made = true;
    return create_file(output.capture, options.force ? Create::kReplace : Create::kNew);
  };
  hooks.capture_path = output.capture == "-" ? "-" : std::filesystem::absolute(output.capture).string();
  hooks.note = [](const std::string& text) { log_note(text); };
  if (live.on() && !options.quiet) {
    hooks.progress = [&](const Progress& progress) { live.draw(progress); };
  }
  bool started = false;
  hooks.started = [&] { started = true; };
  auto done = record_the_kernel(recording, options.verbose ? LibbpfLog::kShown : LibbpfLog::kKept, hooks);
  live.erase();
  if (!done) {
    const ErrorKind kind = done.error().kind;
    if (makes_several(options) && !started) {
      remove_empty_segments(capture_base(options.output), before);
    }
    if (file_made && (!started || kind == ErrorKind::kCommandNotFound || kind == ErrorKind::kCannotExecute)) {
      (void)::unlink(output.capture.c_str());
    }
    return std::move(done).error();
  }
  return finish(options, output, *done);
}

}  // namespace

void add_record(CLI::App& app, Action& action) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App* command = app.add_subcommand("record", "Record events with their stacks: NAME.smc and NAME.map");
  add_record_options(*command, options);
  command->callback([&action, options] { action = [options] { return record(*options); }; });
}

}  // namespace stackmap
