// SPDX-License-Identifier: Apache-2.0
// What a recording is asked for, what it tells meanwhile, and what it leaves.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "capture/ledger.h"
#include "record/tracepoint.h"
#include "store/segment_files.h"

namespace stackmap {

struct RecordingOptions {
  EventSelection events;
  std::vector<uint32_t> processes;  // record only these, with the threads and processes that they start
  std::vector<uint32_t> threads;    // and these
  uint64_t duration_ns = 0;         // 0: until something else ends it
  uint64_t flush_ns = 1000000000;
  // What was flushed is put on the disk when this has gone by since it last was; none: when a capture ends.
  std::optional<uint64_t> sync_ns = 0;
  uint64_t ring_bytes = uint64_t{512} << 10;  // a CPU
  uint32_t readers = 0;                       // threads that drain the rings; 0: as many as the CPUs need
  uint32_t map_capacity = 16384;              // stacks
  uint32_t max_depth = 0;                     // frames; 0: the kernel's own limit
  uint32_t cache_entries = 2048;              // templates of the cookie cache: a power of two; 0: without it
  std::vector<std::string> command;           // run this, and stop when it ends
  std::string command_line;                   // of the recorder, for the capture
  std::string tool;                           // its name and version
  std::string control;                        // path of the control socket; empty: none

  // Not one capture, but segments, or with flight_bytes the snapshots.
  std::optional<SegmentOptions> segments;
  // Keep the newest events in this much memory, and write them out when asked to: by the control socket, SIGUSR2, or a
  // trigger; at the end if no trigger is given. 0: write all.
  uint64_t flight_bytes = 0;
  std::vector<std::string> triggers;  // of a flight recorder: see store/trigger.h
  uint64_t before_ns = 0;             // what a snapshot holds of the time before it was asked for; 0: all there is
  uint64_t after_ns = 0;              // and after

  double max_cpu = 0;       // percent of one CPU that the recorder itself may take; 0: any
  uint64_t max_memory = 0;  // bytes that it may have resident; 0: any
};

struct Progress {
  uint64_t elapsed_ns = 0;
  uint64_t events = 0;
  uint64_t stacks = 0;
  uint64_t lost = 0;
  uint64_t bytes = 0;  // written, removed segments included; with a flight recorder: held in memory
};

struct RecordingResult {
  std::vector<std::string> snapshots;  // that were written
  uint64_t segments = 0;               // that were written
  uint64_t removed = 0;                // of these and of older ones, to keep to the bounds
  Ledger ledger;
  Progress total;
  std::optional<int> command_status;  // as waitpid() gives it; none if the recording ended first, and ended it
};

struct RecordingHooks {
  // Where the capture is, for clients of the control socket.
  std::string capture_path;
  // Opens the capture's file, where it is one. Called when all else that could be refused has been, so that a refusal
  // leaves no file.
  std::function<Result<std::unique_ptr<WritableFile>>()> open_file;
  // Called when recording has begun, and then about four times a second; may be null.
  std::function<void(const Progress&)> progress;
  std::function<void()> started;                 // may be null
  std::function<void(const std::string&)> note;  // for people
};

}  // namespace stackmap
