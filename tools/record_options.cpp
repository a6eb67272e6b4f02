// SPDX-License-Identifier: Apache-2.0
#include "record_options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>

#include "base/log.h"
#include "base/text.h"
#include "collector/tracefs.h"
#include "options.h"
#include "session/control_socket.h"
#include "session/event_selection.h"
#include "store/flight_recorder.h"

namespace stackmap {

namespace {

// --control without a value: the output's name. No path is this.
constexpr const char* kControlDefault = "//";

constexpr uint32_t kSnapshotsKept = 10;

// Where captures go, if that is not one file.
Result<void> add_store(const RecordOptions& options, RecordingOptions& recording) {
  const bool flight = !options.flight_record.empty();
  if (!flight && (!options.triggers.empty() || !options.before.empty() || !options.after.empty())) {
    return make_error(ErrorKind::kUsage, "--trigger, --before and --after are for --flight-record");
  }
  if (flight && !(options.rotate_size.empty() && options.rotate_time.empty())) {
    return make_error(ErrorKind::kUsage, "--flight-record writes snapshots, and does not rotate",
                      "give one or the other");
  }
  if (!makes_several(options)) {
    return {};
  }
  if (options.output == "-") {
    return make_error(ErrorKind::kUsage, "several captures do not go to stdout", "name them with -o");
  }
  SegmentOptions segments;
  segments.base = std::filesystem::absolute(capture_base(options.output)).string();
  segments.keep = options.keep == 0 && flight ? kSnapshotsKept : options.keep;
  const auto size = [](const std::string& text, uint64_t& to) -> Result<void> {
    if (!text.empty()) {
      STACKMAP_TRY_VALUE(value, parse_size(text));
      to = value;
    }
    return {};
  };
  const auto time = [](const std::string& text, uint64_t& to) -> Result<void> {
    if (!text.empty()) {
      STACKMAP_TRY_VALUE(value, parse_duration(text));
      to = value;
    }
    return {};
  };
  STACKMAP_TRY(size(options.rotate_size, segments.rotate_bytes));
  STACKMAP_TRY(time(options.rotate_time, segments.rotate_ns));
  STACKMAP_TRY(size(options.max_disk, segments.max_bytes));
  STACKMAP_TRY(size(options.flight_record, recording.flight_bytes));
  STACKMAP_TRY(time(options.before, recording.before_ns));
  STACKMAP_TRY(time(options.after, recording.after_ns));
  if (segments.rotate_ns != 0 && segments.rotate_ns < 1000000000) {
    return make_error(ErrorKind::kUsage, "--rotate-time takes at least 1s");
  }
  if (flight && recording.flight_bytes < FlightRecorder::kMinBytes) {
    return make_error(ErrorKind::kUsage, "--flight-record takes at least " + human_size(FlightRecorder::kMinBytes));
  }
  recording.segments = std::move(segments);
  recording.triggers = options.triggers;
  return {};
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

std::string command_line_of(const RecordOptions& options) {
  std::vector<std::string> words = {"stackmap record"};
  const auto put = [&](std::string_view flag, const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      words.push_back(std::string(flag) + " " + value);
    }
  };
  const auto optional = [](const std::string& value) {
    return value.empty() ? std::vector<std::string>() : std::vector<std::string>{value};
  };
  put("-e", options.events);
  put("-p", options.processes);
  put("-t", options.threads);
  put("-o", {options.output});
  put("--rotate-size", optional(options.rotate_size));
  put("--rotate-time", optional(options.rotate_time));
  put("--max-disk", optional(options.max_disk));
  put("--flight-record", optional(options.flight_record));
  put("--trigger", options.triggers);
  put("--before", optional(options.before));
  put("--after", optional(options.after));
  put("--ring-size", {options.ring_size});
  if (options.readers != 0) {
    put("--threads", {std::to_string(options.readers)});
  }
  put("--capacity", {std::to_string(options.capacity)});
  put("--duration", optional(options.duration));
  if (options.max_depth != 0) {
    put("--max-depth", {std::to_string(options.max_depth)});
  }
  put("--max-memory", optional(options.max_memory));
  if (options.max_cpu != 0) {
    put("--max-cpu", {fmt::format("{}", options.max_cpu)});
  }
  if (options.no_cache) {
    words.emplace_back("--no-cache");
  }
  if (!options.command.empty()) {
    words.push_back("-- " + join(options.command));
  }
  return join(words);
}

}  // namespace

bool makes_several(const RecordOptions& options) {
  return !options.rotate_size.empty() || !options.rotate_time.empty() || !options.max_disk.empty() ||
         options.keep != 0 || !options.flight_record.empty();
}

Result<RecordingOptions> recording_options(const RecordOptions& options) {
  RecordingOptions recording;
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
    recording.duration_ns = duration;
  }
  STACKMAP_TRY_VALUE(tracefs, TraceFs::open());
  STACKMAP_TRY_VALUE(tracepoints, tracefs.tracepoints());
  STACKMAP_TRY_VALUE(selection, select_events(options.events, tracepoints));
  for (const std::string& missing : selection.missing) {
    log_note("this kernel has no event " + missing + "; going on without it");
  }
  STACKMAP_TRY(add_store(options, recording));
  recording.events = std::move(selection);
  recording.processes = std::move(processes);
  recording.threads = std::move(threads);
  recording.ring_bytes = ring;
  recording.readers = options.readers;
  recording.flush_ns = flush;
  if (options.sync == "never") {
    recording.sync_ns.reset();
  } else if (!options.sync.empty()) {
    STACKMAP_TRY_VALUE(sync, parse_duration(options.sync));
    recording.sync_ns = sync;
  }
  recording.map_capacity = options.capacity;
  recording.max_depth = options.max_depth;
  if (options.no_cache) {
    recording.cache_entries = 0;
  }
  recording.max_cpu = options.max_cpu;
  if (!options.max_memory.empty()) {
    STACKMAP_TRY_VALUE(memory, parse_size(options.max_memory));
    recording.max_memory = memory;
  }
  recording.command = options.command;
  recording.tool = "stackmap " STACKMAP_VERSION;
  recording.command_line = command_line_of(options);
  if (!options.control.empty()) {
    const std::string base = capture_base(options.output);
    const std::string name = options.control == kControlDefault ? base.substr(base.rfind('/') + 1) : options.control;
    STACKMAP_TRY_VALUE(path, control_path(name));
    recording.control = std::move(path);
  }
  return recording;
}

void add_record_options(CLI::App& command, const std::shared_ptr<RecordOptions>& options) {
  command
      .add_option("-e,--event", options->events,
                  "What to record: kmem, sched (both by default), category:name or a glob; may be repeated")
      ->type_name("EVENT")
      ->allow_extra_args(false);
  command.add_flag("-a,--all", options->all, "Every process (the default)");
  command.add_option("-p,--pid", options->processes, "Only these processes and what they start, comma-separated")
      ->type_name("PID")
      ->allow_extra_args(false);
  command.add_option("-t,--tid", options->threads, "Only these threads, comma-separated")
      ->type_name("TID")
      ->allow_extra_args(false);
  command.add_option("-o,--output", options->output, "Write NAME.smc and NAME.map; '-': the capture to stdout")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_flag("--force", options->force, "Replace files that exist");
  command.add_flag("--numbered", options->numbered,
                   "Write NAME-000001, or the number behind the highest that is there");
  command.add_option("--duration", options->duration, "Stop after this: 10, 1.5s, 5m, 2h")->type_name("TIME");
  command.add_option("--ring-size", options->ring_size, "Bytes of the ring of one CPU: a power of two")
      ->type_name("SIZE")
      ->capture_default_str();
  command
      .add_option("--threads", options->readers,
                  "Threads that read the rings, at most one a CPU; 0: one for every 8 CPUs")
      ->type_name("N")
      ->check(CLI::Range(0, 64));
  command.add_option("--capacity", options->capacity, "Stacks that the map can hold, 4 to 4194304")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--max-depth", options->max_depth, "Frames of a stack; 0: the kernel's limit")->type_name("N");
  command
      .add_option("--max-cpu", options->max_cpu,
                  "Share of one CPU that recording itself may take; above it events are counted and not recorded")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.1, 100.0));
  command
      .add_option("--max-memory", options->max_memory,
                  "Memory that recording itself may take; above it the map begins a new generation, then as --max-cpu")
      ->type_name("SIZE");
  command.add_flag("--no-cache", options->no_cache, "Send every event in full, also those whose stacks are known");
  command.add_option("--flush", options->flush, "What a crash can cost at most")
      ->type_name("TIME")
      ->capture_default_str();
  command
      .add_option("--sync", options->sync,
                  "Put what was flushed on the disk this often, or 'never' before the end; with every flush by default")
      ->type_name("TIME");
  command
      .add_option("--max-loss", options->max_loss,
                  "Fail (exit 3) if more than this share of the events is lost, in percent")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 100.0));
  command.add_flag(
      "--control{//}", options->control,
      "Open a control socket for 'stackmap ctl': under /run/stackmap by the output's name, or --control=NAME or PATH");
  command
      .add_option("--rotate-size", options->rotate_size,
                  "Begin a new capture at this size: NAME-000001.smc, NAME-000002.smc, ...")
      ->type_name("SIZE");
  command.add_option("--rotate-time", options->rotate_time, "And at this age")->type_name("TIME");
  command
      .add_option("--keep", options->keep,
                  "Keep at most so many captures, older ones of this name included; 0: all (with --flight-record: 10)")
      ->type_name("N");
  command
      .add_option("--max-disk", options->max_disk,
                  "What all captures of this name and their map files may take on disk")
      ->type_name("SIZE");
  command
      .add_option("--flight-record", options->flight_record,
                  "Keep the newest events in this much memory, and write NAME-000001.smc when asked to: by 'ctl "
                  "snapshot', SIGUSR2 or --trigger; without --trigger also at the end")
      ->type_name("SIZE");
  command
      .add_option("--trigger", options->triggers,
                  "Write a snapshot when this happens: 'kmem:mm_page_alloc order>=4', 'lost>1000', 'exit!=0'; may be "
                  "repeated")
      ->type_name("WHEN")
      ->allow_extra_args(false);
  command.add_option("--before", options->before, "What a snapshot holds of the time before; all there is by default")
      ->type_name("TIME");
  command.add_option("--after", options->after, "And after: it is written so much later")->type_name("TIME");
  command.add_flag("-q,--quiet", options->quiet, "No notes, errors alone");
  command.add_flag("-v,--verbose", options->verbose, "Show what libbpf says");
  command.add_option("COMMAND", options->command, "After --: run this, and stop when it ends");
}

}  // namespace stackmap
