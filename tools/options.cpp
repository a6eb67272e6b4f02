// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include "base/text.h"

namespace stackmap {

std::string capture_base(const std::string& name) {
  for (const std::string_view ending : {".smc", ".map"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) {
      return name.substr(0, name.size() - ending.size());
    }
  }
  return name;
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
  std::vector<std::string> names;
  std::string help = "What is added up: ";
  for (const WeightInfo* info : weights()) {
    const bool last = info == weights().back();
    help += fmt::format("{}{}", names.empty() ? "" : last ? ", or " : ", ", info->help);
    names.emplace_back(info->name);
  }
  command.add_option("--weight", weight, help)->check(CLI::IsMember(names))->capture_default_str();
  command.add_flag("--merge-tasks", merge_tasks, "Add up all threads: no frame for their names");
  command.add_flag("--modules", modules, "Put the module behind a function's name");
}

AggregateOptions WeightOptions::aggregate_options() const {
  AggregateOptions options;
  options.weight = find_weight(weight);
  options.merge_tasks = merge_tasks;
  options.module_suffix = modules;
  return options;
}

void add_output(CLI::App& command, OutputFile& output, const std::string& otherwise) {
  command.add_option("-o,--output", output.path, "The file; by default " + otherwise)->type_name("FILE");
  command.add_flag("--force", output.force, "Replace the file if it exists");
}

}  // namespace stackmap
