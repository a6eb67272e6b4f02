// SPDX-License-Identifier: Apache-2.0
// The options of `stackmap record`, and what they ask of the recording.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/recording_options.h"

namespace CLI {
class App;
}

namespace stackmap {

struct RecordOptions {
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
  std::string sync;
  uint32_t capacity = 16384;
  uint32_t max_depth = 0;
  double max_loss = -1;
  uint32_t readers = 0;
  bool no_cache = false;
  double max_cpu = 0;
  std::string max_memory;
  std::string control;
  std::string rotate_size;
  std::string rotate_time;
  std::string max_disk;
  uint32_t keep = 0;
  std::string flight_record;
  std::vector<std::string> triggers;
  std::string before;
  std::string after;
  bool quiet = false;
  bool verbose = false;
  std::vector<std::string> command;
};

// Whether captures go to NAME-000001.smc and so on, and not to NAME.smc.
bool makes_several(const RecordOptions& options);

void add_record_options(CLI::App& command, const std::shared_ptr<RecordOptions>& options);

// kUsage for what does not go together. Looks at tracefs for the events.
Result<RecordingOptions> recording_options(const RecordOptions& options);

}  // namespace stackmap
