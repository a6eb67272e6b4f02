// SPDX-License-Identifier: Apache-2.0
// stackmap record: the main job.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "base/bytes.h"
#include "base/log.h"
#include "base/text.h"
#include "collector/collector.h"
#include "collector/command.h"
#include "collector/control_socket.h"
#include "collector/event_selection.h"
#include "collector/tracefs.h"
#include "commands.h"
#include "exit_code.h"
#include "map_output.h"
#include "options.h"
#include "output.h"
#include "report/losses.h"
#include "symbolize/kallsyms.h"

namespace stackmap {

namespace {

// --control without a value: the output's name. No path is this.
constexpr const char* kControlDefault = "//";

struct Options {
  std::vector<std::string> events;
  bool all = false;
  std::vector<std::string> processes;
  std::vector<std::string> threads;
  std::string output = "stackmap";
  bool force = false;
  bool numbered = false;
  std::string duration;
  std::string ring_size = "512K";
  std::string flush = "1s";
  uint32_t capacity = 16384;
  uint32_t max_depth = 0;
  double max_loss = -1;
  bool no_cache = false;
  std::string control;
  bool quiet = false;
  bool verbose = false;
  std::vector<std::string> command;
};

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

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

// NAME-0001, NAME-0002, ...: the first of which there is neither a capture nor a map file.
std::string first_free_name(const std::string& base) {
  for (unsigned number = 1;; ++number) {
    std::string name = fmt::format("{}-{:04}", base, number);
    if (::access((name + ".smc").c_str(), F_OK) != 0 && ::access((name + ".map").c_str(), F_OK) != 0) {
      return name;
    }
  }
}

Result<CaptureOutput> choose_output(const Options& options) {
  const bool numbered = options.numbered && options.output != "-";
  return choose_capture_output(numbered ? first_free_name(capture_base(options.output)) : options.output,
                               options.force);
}

Result<CollectorOptions> collector_options(const Options& options) {
  CollectorOptions collector;
  if (options.all && (!options.processes.empty() || !options.threads.empty())) {
    return make_error(ErrorKind::kUsage, "-a records every process, -p and -t only some", "give one or the other");
  }
  STACKMAP_TRY_VALUE(processes, parse_ids(options.processes));
  STACKMAP_TRY_VALUE(threads, parse_ids(options.threads));
  STACKMAP_TRY_VALUE(ring, parse_size(options.ring_size));
  STACKMAP_TRY_VALUE(flush, parse_duration(options.flush));
  if (flush < 10000000) {
    return make_error(ErrorKind::kUsage, "--flush takes at least 10ms");
  }
  if (!options.duration.empty()) {
    STACKMAP_TRY_VALUE(duration, parse_duration(options.duration));
    if (duration == 0) {
      return make_error(ErrorKind::kUsage, "--duration takes more than 0");
    }
    collector.duration_ns = duration;
  }
  STACKMAP_TRY_VALUE(tracefs, TraceFs::open());
  STACKMAP_TRY_VALUE(tracepoints, tracefs.tracepoints());
  STACKMAP_TRY_VALUE(selection, select_events(options.events, tracepoints));
  for (const std::string& missing : selection.missing) {
    log_note("this kernel has no event " + missing + "; going on without it");
  }
  collector.events = std::move(selection);
  collector.processes = std::move(processes);
  collector.threads = std::move(threads);
  collector.ring_bytes = ring;
  collector.flush_ns = flush;
  collector.map_capacity = options.capacity;
  collector.max_depth = options.max_depth;
  if (options.no_cache) {
    collector.cache_entries = 0;
  }
  collector.command = options.command;
  collector.verbose = options.verbose;
  collector.tool = "stackmap " STACKMAP_VERSION;
  if (!options.control.empty()) {
    const std::string base = capture_base(options.output);
    const std::string name = options.control == kControlDefault ? base.substr(base.rfind('/') + 1) : options.control;
    STACKMAP_TRY_VALUE(path, control_path(name));
    collector.control = std::move(path);
  }
  return collector;
}

std::string command_line_of(const Options& options) {
  std::vector<std::string> words = {"stackmap record"};
  const auto put = [&](std::string_view flag, const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      words.push_back(std::string(flag) + " " + value);
    }
  };
  put("-e", options.events);
  put("-p", options.processes);
  put("-t", options.threads);
  put("-o", {options.output});
  put("--ring-size", {options.ring_size});
  put("--capacity", {std::to_string(options.capacity)});
  if (!options.duration.empty()) {
    put("--duration", {options.duration});
  }
  if (options.max_depth != 0) {
    put("--max-depth", {std::to_string(options.max_depth)});
  }
  if (options.no_cache) {
    words.emplace_back("--no-cache");
  }
  if (!options.command.empty()) {
    words.push_back("-- " + join(options.command));
  }
  return join(words);
}

// The closing line, the map file, and what was lost.
Result<int> finish(const Options& options, const CaptureOutput& output, const CollectorResult& result) {
  std::string closing =
      fmt::format("{} events, {} stacks in {:.1f} s", human_count(result.total.events),
                  human_count(result.total.stacks), static_cast<double>(result.total.elapsed_ns) / 1e9);
  if (output.map.empty()) {
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
  const LossTotals losses = loss_totals(result.ledger);
  if (!options.quiet) {
    const auto err = borrow_file(STDERR_FILENO, "stderr");
    TextWriter writer(*err);
    write_losses(result.ledger, writer);
    (void)writer.flush();  // nowhere left to report it
  }
  if (options.max_loss >= 0 && losses.ratio() * 100 > options.max_loss) {
    log_error(fmt::format("{:.3f} % of the events were lost, more than --max-loss {}", losses.ratio() * 100,
                          options.max_loss));
    return kTooMuchLost;
  }
  return kDone;
}

Result<int> record(const Options& options) {
  set_quiet(options.quiet);
  STACKMAP_TRY_VALUE(output, choose_output(options));
  STACKMAP_TRY_VALUE(collector, collector_options(options));
  collector.command_line = command_line_of(options);
  LiveLine live;
  bool file_made = false;
  Collector::Hooks hooks;
  hooks.fallback_namer = []() -> Result<std::unique_ptr<KernelNamer>> {
    STACKMAP_TRY_VALUE(kallsyms, Kallsyms::load());
    return std::unique_ptr<KernelNamer>(new Kallsyms(std::move(kallsyms)));
  };
  hooks.open_file = [&]() -> Result<std::unique_ptr<WritableFile>> {
    if (output.capture == "-") {
      return borrow_file(STDOUT_FILENO, "stdout");
    }
    file_made = true;
    return create_file(output.capture, options.force ? Create::kReplace : Create::kNew);
  };
  hooks.capture_path = output.capture;
  hooks.note = [](const std::string& text) { log_note(text); };
  if (live.on() && !options.quiet) {
    hooks.progress = [&](const Progress& progress) { live.draw(progress); };
  }
  bool started = false;
  hooks.started = [&] { started = true; };
  auto done = Collector::run(collector, hooks);
  live.erase();
  if (!done) {
    const ErrorKind kind = done.error().kind;
    if (file_made && (!started || kind == ErrorKind::kCommandNotFound || kind == ErrorKind::kCannotExecute)) {
      (void)::unlink(output.capture.c_str());
    }
    return std::move(done).error();
  }
  return finish(options, output, *done);
}

}  // namespace

void add_record(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("record", "Record events with their stacks: NAME.smc and NAME.map");
  command
      ->add_option("-e,--event", options->events,
                   "What to record: kmem, sched (both by default), category:name or a glob; may be repeated")
      ->type_name("EVENT");
  command->add_flag("-a,--all", options->all, "Every process (the default)");
  command->add_option("-p,--pid", options->processes, "Only these processes and what they start, comma-separated")
      ->type_name("PID");
  command->add_option("-t,--tid", options->threads, "Only these threads, comma-separated")->type_name("TID");
  command->add_option("-o,--output", options->output, "Write NAME.smc and NAME.map; '-': the capture to stdout")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_flag("--force", options->force, "Replace files that exist");
  command->add_flag("--numbered", options->numbered, "Write the first free of NAME-0001, NAME-0002, ...");
  command->add_option("--duration", options->duration, "Stop after this: 10, 1.5s, 5m, 2h")->type_name("TIME");
  command->add_option("--ring-size", options->ring_size, "Bytes of the ring of one CPU: a power of two")
      ->type_name("SIZE")
      ->capture_default_str();
  command->add_option("--capacity", options->capacity, "Stacks that the map can hold, 4 to 4194304")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--max-depth", options->max_depth, "Frames of a stack; 0: the kernel's limit")->type_name("N");
  command->add_flag("--no-cache", options->no_cache, "Send every event in full, also those whose stacks are known");
  command->add_option("--flush", options->flush, "What a crash can cost at most")
      ->type_name("TIME")
      ->capture_default_str();
  command
      ->add_option("--max-loss", options->max_loss,
                   "Fail (exit 3) if more than this share of the events is lost, in percent")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 100.0));
  command->add_flag(
      "--control{//}", options->control,
      "Open a control socket for 'stackmap ctl': under /run/stackmap by the output's name, or --control=NAME or PATH");
  command->add_flag("-q,--quiet", options->quiet, "No notes, errors alone");
  command->add_flag("-v,--verbose", options->verbose, "Show what libbpf says");
  command->add_option("COMMAND", options->command, "After --: run this, and stop when it ends");
  command->callback([&action, options] { action = [options] { return record(*options); }; });
}

}  // namespace stackmap
