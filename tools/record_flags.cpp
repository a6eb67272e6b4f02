// SPDX-License-Identifier: Apache-2.0
// The flags of `stackmap record`, in the order of --help.
#include <CLI/CLI.hpp>

#include "record_options.h"

namespace stackmap {

namespace {

// What is recorded, where it goes, and for how long.
void add_basics(CLI::App& command, RecordOptions& options) {
  command
      .add_option("-e,--event", options.events,
                  "What to record: kmem, sched (both by default), category:name or a glob; may be repeated")
      ->type_name("EVENT")
      ->allow_extra_args(false);
  command.add_flag("-a,--all", options.all, "Every process (the default)");
  command.add_option("-p,--pid", options.processes, "Only these processes and what they start, comma-separated")
      ->type_name("PID")
      ->allow_extra_args(false);
  command.add_option("-t,--tid", options.threads, "Only these threads, comma-separated")
      ->type_name("TID")
      ->allow_extra_args(false);
  command.add_option("-o,--output", options.output, "Write NAME.smc and NAME.map; '-': the capture to stdout")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_flag("--force", options.force, "Replace files that exist");
  command.add_flag("--numbered", options.numbered, "Write NAME-000001, or the number behind the highest that is there");
  command.add_option("--duration", options.duration, "Stop after this: 10, 1.5s, 5m, 2h")->type_name("TIME");
}

// How it is recorded, and its bounds.
void add_bounds(CLI::App& command, RecordOptions& options) {
  command.add_option("--ring-size", options.ring_size, "Bytes of the ring of one CPU: a power of two")
      ->type_name("SIZE")
      ->capture_default_str();
  command
      .add_option("--threads", options.readers,
                  "Threads that read the rings, at most one a CPU; 0: one for every 8 CPUs")
      ->type_name("N")
      ->check(CLI::Range(0, 64));
  command.add_option("--capacity", options.capacity, "Stacks that the map can hold, 4 to 4194304")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--max-depth", options.max_depth, "Frames of a stack; 0: the kernel's limit")->type_name("N");
  command
      .add_option("--max-cpu", options.max_cpu,
                  "Share of one CPU that recording itself may take; above it events are counted and not recorded")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.1, 100.0));
  command
      .add_option("--max-memory", options.max_memory,
                  "Memory that recording itself may take; above it the map begins a new generation, then as --max-cpu")
      ->type_name("SIZE");
  command.add_flag("--no-cache", options.no_cache, "Send every event in full, also those whose stacks are known");
  command.add_option("--flush", options.flush, "What a crash can cost at most")
      ->type_name("TIME")
      ->capture_default_str();
  command
      .add_option("--sync", options.sync,
                  "Put what was flushed on the disk this often, or 'never' before the end; with every flush by default")
      ->type_name("TIME");
  command
      .add_option("--max-loss", options.max_loss,
                  "Fail (exit 3) if more than this share of the events is lost, in percent")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 100.0));
  command.add_flag(
      "--control{//}", options.control,
      "Open a control socket for 'stackmap ctl': under /run/stackmap by the output's name, or --control=NAME or PATH");
}

// Several captures, and a flight recorder's snapshots.
void add_store(CLI::App& command, RecordOptions& options) {
  command
      .add_option("--rotate-size", options.rotate_size,
                  "Begin a new capture at this size: NAME-000001.smc, NAME-000002.smc, ...")
      ->type_name("SIZE");
  command.add_option("--rotate-time", options.rotate_time, "And at this age")->type_name("TIME");
  command
      .add_option("--keep", options.keep,
                  "Keep at most so many captures, older ones of this name included; 0: all (with --flight-record: 10)")
      ->type_name("N");
  command
      .add_option("--max-disk", options.max_disk, "What all captures of this name and their map files may take on disk")
      ->type_name("SIZE");
  command
      .add_option("--flight-record", options.flight_record,
                  "Keep the newest events in this much memory, and write NAME-000001.smc when asked to: by 'ctl "
                  "snapshot', SIGUSR2 or --trigger; without --trigger also at the end")
      ->type_name("SIZE");
  command
      .add_option("--trigger", options.triggers,
                  "Write a snapshot when this happens: 'kmem:mm_page_alloc order>=4', 'lost>1000', 'exit!=0'; may be "
                  "repeated")
      ->type_name("WHEN")
      ->allow_extra_args(false);
  command.add_option("--before", options.before, "What a snapshot holds of the time before; all there is by default")
      ->type_name("TIME");
  command.add_option("--after", options.after, "And after: it is written so much later")->type_name("TIME");
}

}  // namespace

void add_record_options(CLI::App& command, const std::shared_ptr<RecordOptions>& options) {
  add_basics(command, *options);
  add_bounds(command, *options);
  add_store(command, *options);
  command.add_flag("-q,--quiet", options->quiet, "No notes, errors alone");
  command.add_flag("-v,--verbose", options->verbose, "Show what libbpf says");
  command.add_option("COMMAND", options->command, "After --: run this, and stop when it ends");
}

}  // namespace stackmap
