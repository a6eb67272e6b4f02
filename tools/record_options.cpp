// SPDX-License-Identifier: Apache-2.0
#include "record_options.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/log.h"
#include "base/text.h"
#include "collector/tracefs.h"
#include "options.h"
#include "record/trace_kinds.h"
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

// How often, and how long.
Result<void> add_times(const RecordOptions& options, RecordingOptions& recording) {
  STACKMAP_TRY_VALUE(flush, parse_duration(options.flush));
  if (flush < 10000000) {
    return make_error(ErrorKind::kUsage, "--flush takes at least 10ms");
  }
  recording.flush_ns = flush;
  if (!options.duration.empty()) {
    STACKMAP_TRY_VALUE(duration, parse_duration(options.duration));
    if (duration == 0) {
      return make_error(ErrorKind::kUsage, "--duration takes more than 0");
    }
    recording.duration_ns = duration;
  }
  return {};
}

// Where this kernel has the fields of the events that have no program of their own.
Result<void> find_fields(const TraceFs& tracefs, EventSelection& selection) {
  for (AnyEvent& event : selection.any) {
    const TraceKind* const kind = find_trace_kind(event.category, event.name);
    if (kind == nullptr) {
      continue;
    }
    STACKMAP_TRY_VALUE(format, tracefs.format(event.category, event.name));
    KeptFields kept = keep_fields(*kind, format);
    for (const std::string& missing : kept.missing) {
      log_note("this kernel's " + event.full_name() + " has no field " + missing + "; going on without it");
    }
    event.fields = std::move(kept.fields);
  }
  return {};
}

// Of those that this kernel has.
Result<void> add_events(const RecordOptions& options, RecordingOptions& recording) {
  STACKMAP_TRY_VALUE(tracefs, TraceFs::open());
  STACKMAP_TRY_VALUE(tracepoints, tracefs.tracepoints());
  STACKMAP_TRY_VALUE(selection, select_events(options.events, tracepoints));
  for (const std::string& missing : selection.missing) {
    log_note("this kernel has no event " + missing + "; going on without it");
  }
  STACKMAP_TRY(find_fields(tracefs, selection));
  recording.events = std::move(selection);
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
  recording.processes = std::move(processes);
  STACKMAP_TRY_VALUE(threads, parse_ids(options.threads));
  recording.threads = std::move(threads);
  STACKMAP_TRY_VALUE(ring, parse_size(options.ring_size));
  recording.ring_bytes = ring;
  STACKMAP_TRY(add_times(options, recording));
  STACKMAP_TRY(add_events(options, recording));
  STACKMAP_TRY(add_store(options, recording));
  recording.readers = options.readers;
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

}  // namespace stackmap
