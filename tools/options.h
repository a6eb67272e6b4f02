// SPDX-License-Identifier: Apache-2.0
// Options that several commands share, and their parsers. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/capture.h"
#include "output.h"
#include "profile/aggregate.h"
#include "profile/filter.h"

namespace stackmap {

// "NAME", "NAME.smc" or "NAME.map" -> "NAME".
std::string capture_base(const std::string& name);
// What a command that reads a capture was given: files, NAME of NAME.smc or of the segments NAME-000001.smc ..., or
// folders, all of whose .smc files are meant.
using Inputs = std::vector<std::string>;
// The files that the inputs mean. Of several, those that a power cut left empty are told of and left out.
Result<std::vector<std::string>> capture_files(const Inputs& inputs);

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
  std::string weight{weights().front()->name};
  bool merge_tasks = false;
  bool modules = false;

  void add_to(CLI::App& command);
  AggregateOptions aggregate_options() const;
};

// -o, --force of a command that writes one file; `otherwise` is where it goes without -o.
void add_output(CLI::App& command, OutputFile& output, const std::string& otherwise = "stdout");

}  // namespace stackmap
