// SPDX-License-Identifier: Apache-2.0
// Options that several commands share, and their parsers. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/capture.h"
#include "profile/aggregate.h"
#include "profile/filter.h"
#include "profile/lent_names.h"

namespace stackmap {

// "NAME", "NAME.smc" or "NAME.map" -> "NAME".
std::string capture_base(const std::string& name);
// What a command that reads a capture was given: files, NAME of NAME.smc or of the segments NAME-000001.smc ..., or
// folders, all of whose .smc files are meant.
using Inputs = std::vector<std::string>;
// The files that the inputs mean. Of several, those that a power cut left empty are told of and left out.
Result<std::vector<std::string>> capture_files(const Inputs& inputs);
// The same, opened as one capture.
Result<Capture> open_capture(const Inputs& inputs);
// Says on stderr what is wrong with the capture, if anything is: at the end, since reading the events can find more.
void tell_damage(const Capture& capture);

// Comma lists of thread or process numbers.
Result<std::vector<uint32_t>> parse_ids(const std::vector<std::string>& lists);

// The input of every command that reads a capture.
void add_input(CLI::App& command, Inputs& inputs);

// -e, -p, -t, --comm: which events count.
struct FilterOptions {
  std::vector<std::string> events;
  std::vector<std::string> processes;
  std::vector<std::string> threads;
  std::vector<std::string> comms;

  void add_to(CLI::App& command);
  // An event that the capture does not hold is an error.
  Result<Filter> filter(const Capture& capture) const;
};

// --weight, --merge-tasks, --modules: what is added up, and how.
struct WeightOptions {
  std::string weight = "count";
  bool merge_tasks = false;
  bool modules = false;

  void add_to(CLI::App& command);
  AggregateOptions aggregate_options() const;
};

// A profile of a capture, with its title and losses. `names` names what the capture does not; may be null.
Result<Aggregate> make_profile(const Capture& capture, const FilterOptions& filter, const WeightOptions& weight,
                               const LentNames* names = nullptr);

}  // namespace stackmap
