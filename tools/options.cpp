// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <filesystem>

#include "base/log.h"
#include "base/text.h"
#include "profile/event_source.h"
#include "render/losses.h"

namespace stackmap {

std::string capture_base(const std::string& name) {
  for (const std::string_view ending : {".smc", ".map"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) {
      return name.substr(0, name.size() - ending.size());
    }
  }
  return name;
}

namespace {

void tell_damage_of(const CaptureFile& file) {
  const Damage& damage = file.damage;
  if (damage.any()) {
    std::string text = fmt::format("{} is damaged ({})", file.name, damage.first);
    text += fmt::format(": {} bad blocks, {} missing blocks, {} bytes skipped, {} bytes of an unfinished block",
                        damage.bad_blocks, damage.missing_blocks, damage.bytes_skipped, damage.torn_bytes);
    log_warning(text + "; what is whole is used");
  }
  if (!damage.closed) {
    log_warning(file.name +
                " has no end: it is still being written, or its recorder was killed; "
                "what is missing at the end cannot be told");
  }
  if (damage.unknown_blocks != 0) {
    log_warning(
        fmt::format("{} has {} blocks of a later version, which are skipped", file.name, damage.unknown_blocks));
  }
}

}  // namespace

void tell_damage(const Capture& capture) {
  for (const CaptureFile& file : capture.files()) {
    tell_damage_of(file);
  }
  if (!capture.missing_segments().empty()) {
    log_warning(fmt::format("{}: {}; the others are used", capture.name(), capture.missing_segments()));
  }
}

namespace {

// The files at the end that are of one recording; none if the last one cannot be read.
std::vector<std::string> newest_recording(const std::vector<std::string>& files) {
  std::vector<std::string> newest;
  uint64_t session = 0;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const auto capture = Capture::open(*file);
    if (!capture || (!newest.empty() && (session == 0 || capture->info().session != session))) {
      break;
    }
    session = capture->info().session;
    newest.insert(newest.begin(), *file);
  }
  return newest;
}

}  // namespace

Result<Capture> open_capture(const Inputs& inputs) {
  STACKMAP_TRY_VALUE(files, capture_files(inputs));
  auto capture = Capture::open(files);
  // Of a name that several recordings have, one for each start of the recorder, the newest is meant.
  const bool by_name = inputs.size() == 1 && files.size() > 1 && !std::filesystem::is_directory(inputs.front());
  if (capture || capture.error().kind != ErrorKind::kUsage || !by_name) {
    return capture;
  }
  const auto newest = newest_recording(files);
  if (newest.empty() || newest.size() == files.size()) {
    return capture;
  }
  log_note(fmt::format("{} has several recordings; this is the newest, {}{}. Name the files of another to read it",
                       inputs.front(), newest.front(), newest.size() > 1 ? " to " + newest.back() : ""));
  return Capture::open(newest);
}

Result<std::vector<uint32_t>> parse_ids(const std::vector<std::string>& lists) {
  std::vector<uint32_t> ids;
  for (const std::string& list : lists) {
    for (const std::string_view part : split(list, ',')) {
      STACKMAP_TRY_VALUE(id, parse_uint(part));
      if (id > INT32_MAX) {
        return make_error(ErrorKind::kUsage, fmt::format("'{}' is no process or thread", part));
      }
      ids.push_back(static_cast<uint32_t>(id));
    }
  }
  return ids;
}

void add_input(CLI::App& command, Inputs& inputs) {
  command
      .add_option("CAPTURE", inputs,
                  "The capture: NAME.smc, or NAME. Of a recording in segments: NAME, its files, or a folder of them")
      ->required();
}

void FilterOptions::add_to(CLI::App& command) {
  command.add_option("-e,--event", events, "Only these events: category, category:name or a glob; may be repeated")
      ->type_name("EVENT")
      ->allow_extra_args(false);
  command.add_option("-p,--pid", processes, "Only these processes, comma-separated")
      ->type_name("PID")
      ->allow_extra_args(false);
  command.add_option("-t,--tid", threads, "Only these threads, comma-separated")
      ->type_name("TID")
      ->allow_extra_args(false);
  command.add_option("--comm", comms, "Only threads of this name; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

Result<Filter> FilterOptions::filter(const Capture& capture) const {
  Filter filter;
  for (const std::string& list : events) {
    for (const std::string_view part : split(list, ',')) {
      const std::string pattern =
          part.find(':') == std::string_view::npos ? std::string(part) + ":*" : std::string(part);
      bool found = false;
      for (const EventType& type : capture.event_types()) {
        if (::fnmatch(pattern.c_str(), type.full_name().c_str(), 0) == 0) {
          filter.event_types.push_back(type.id);
          found = true;
        }
      }
      if (!found) {
        return make_error(ErrorKind::kNotFound, fmt::format("{} has no event '{}'", capture.name(), part),
                          "'stackmap inspect' lists what it has");
      }
    }
  }
  STACKMAP_TRY_VALUE(tgids, parse_ids(processes));
  STACKMAP_TRY_VALUE(tids, parse_ids(threads));
  filter.tgids = std::move(tgids);
  filter.tids = std::move(tids);
  filter.comms = comms;
  return filter;
}

void WeightOptions::add_to(CLI::App& command) {
  command.add_option("--weight", weight, "What is added up: count, or bytes allocated")
      ->check(CLI::IsMember({"count", "bytes"}))
      ->capture_default_str();
  command.add_flag("--merge-tasks", merge_tasks, "Add up all threads: no frame for their names");
  command.add_flag("--modules", modules, "Put the module behind a function's name");
}

AggregateOptions WeightOptions::aggregate_options() const {
  AggregateOptions options;
  options.weight = weight == "bytes" ? Weight::kBytes : Weight::kCount;
  options.merge_tasks = merge_tasks;
  options.module_suffix = modules;
  return options;
}

Result<Aggregate> make_profile(const Capture& capture, const FilterOptions& filter_options, const WeightOptions& weight,
                               const LentNames* names) {
  STACKMAP_TRY_VALUE(filter, filter_options.filter(capture));
  const CaptureSource source(capture, names);
  STACKMAP_TRY_VALUE(made, aggregate(source, filter, weight.aggregate_options()));
  made.profile.title = capture_base(capture.name());
  made.profile.losses = one_line_summary(capture.ledger());
  return made;
}

}  // namespace stackmap
