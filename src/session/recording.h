// SPDX-License-Identifier: Apache-2.0
// One recording from start to end: ties a source of records, and what becomes of them, to the command that is run, the
// control socket, the limits, and what ends it. Knows no BPF. Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "process/kernel_symbol.h"
#include "record/record_source.h"
#include "session/command.h"
#include "session/control_server.h"
#include "session/event_loop.h"
#include "session/record_flow.h"
#include "session/recording_control.h"
#include "session/recording_options.h"
#include "session/self_limits.h"
#include "session/snapshot_taker.h"

namespace stackmap {

class Recording {
 public:
  // Records until SIGINT, SIGTERM or SIGHUP, the end of the command, the end of the duration, or `stop` through the
  // control socket, whichever is first.
  // Blocks these signals, and SIGUSR2, in the calling thread and leaves them blocked. When the capture cannot be
  // written any more it stops, and the error says how much of it is good; also after any other error what was recorded
  // by then is in the capture.
  //
  // The source was not opened yet, and is of no use any more afterwards. `namer` names the frames; null: nobody does,
  // the capture holds addresses alone.
  static Result<RecordingResult> run(const RecordingOptions& options, RecordSource& source, KernelNamer* namer,
                                     const RecordingHooks& hooks);

 private:
  Recording(const RecordingOptions& options, RecordSource& source, KernelNamer* namer, const RecordingHooks& hooks);

  Result<void> prepare();
  Result<void> start();
  Result<void> loop();
  // After any start(): ends the source and the command, writes what is left.
  Result<RecordingResult> finish();

  Result<void> open_recorder();
  Result<Triggers> parse_triggers() const;
  Result<void> scan_tasks();
  Result<void> follow_targets();
  Result<void> watch_all();
  Result<void> check_triggers();
  Result<void> on_signal(int signal);
  Result<void> keep_limits();

  const RecordingOptions& options_;
  const RecordingHooks& hooks_;
  KernelNamer* namer_;
  EventLoop loop_;
  RecordFlow flow_;
  std::unique_ptr<SnapshotTaker> taker_;  // null without a flight recorder
  std::optional<Command> command_;
  RecordingControl control_;
  std::unique_ptr<ControlServer> server_;  // null without a control socket
  SelfLimits limits_;
};

}  // namespace stackmap
