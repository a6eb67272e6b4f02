// SPDX-License-Identifier: Apache-2.0
// The parts of a running recording, in the order in which they are made, and what ties them together. Collector::run()
// is its only user. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/capture_writer.h"
#include "collector/bpf_session.h"
#include "collector/collector.h"
#include "collector/kernel_cache.h"
#include "collector/ring_readers.h"
#include "collector/tracefs.h"
#include "recorder/recorder.h"
#include "session/command.h"
#include "session/control_server.h"
#include "session/event_loop.h"
#include "session/self_limits.h"
#include "stackmap/stack_map.h"
#include "store/file_syncer.h"
#include "store/flight_recorder.h"
#include "store/segment_files.h"
#include "store/snapshot_writer.h"

namespace stackmap {

class Recording final : private ControlTarget {
 public:
  Recording(const CollectorOptions& options, const Collector::Hooks& hooks) : options_(options), hooks_(hooks) {}

  Result<void> prepare();
  Result<void> start();
  Result<void> loop();
  // After any start(): detaches, writes what is left, ends the command.
  Result<CollectorResult> finish();

 private:
  Result<void> make_namer();
  Result<void> make_map_and_programs();
  Result<void> load_programs(uint32_t frames);
  Result<void> open_store();
  Result<std::unique_ptr<CaptureWriter>> open_capture();
  Result<void> open_recorder();
  Result<void> scan_tasks();
  Result<void> follow_targets();
  Result<void> watch_all();
  Result<void> open_rings();
  Result<void> drain();
  Result<void> settle();
  Result<void> after_drain();
  Result<void> flush();
  Result<void> renew_rings(const std::vector<KernelEventCounters>& kernel);
  Result<void> sync_if_due();
  uint64_t lost(const std::vector<KernelEventCounters>& kernel) const;
  Progress progress(const std::vector<KernelEventCounters>& kernel) const;
  Result<void> on_signal(int signal);
  Result<void> keep_limits();

  // Segments (recording_store.cpp).
  bool capture_is_full() const;
  Result<void> rotate_if_full();
  Result<void> rotate();
  // Snapshots of a flight recorder.
  Result<std::shared_ptr<const Snapshot>> ask_for_snapshot(const std::string& why, uint64_t at_ns);
  Result<void> begin_snapshot();
  Result<void> end_snapshot();
  Result<void> answer_snapshot(Result<SnapshotDone> done);
  Result<void> check_triggers();
  Result<void> last_snapshot();

  // By the control socket (recording_control.cpp).
  Result<void> reset() override;
  Result<void> on() override;
  Result<void> off() override;
  Result<std::weak_ptr<const Generation>> free() override;
  std::string stat() override;
  std::shared_ptr<const Generation> map() override;
  std::string frame_text(uint64_t address) override;
  Result<std::shared_ptr<const Snapshot>> snapshot() override;
  void stop() override { loop_.stop(); }

  // A snapshot that was asked for and is not written yet.
  struct Pending {
    std::string why;
    uint64_t at_ns = 0;
    std::shared_ptr<Snapshot> answer;
  };

  const CollectorOptions& options_;
  const Collector::Hooks& hooks_;
  EventLoop loop_;
  std::optional<TraceFs> tracefs_;
  std::unique_ptr<KernelNamer> namer_;
  std::unique_ptr<StackMap> map_;
  std::unique_ptr<BpfSession> bpf_;
  std::unique_ptr<KernelCache> cache_;  // null: without the cookie cache
  std::unique_ptr<RingReaders> readers_;
  FileSyncer syncer_;                       // of a single capture
  std::unique_ptr<SegmentFiles> files_;     // segments or snapshots
  std::unique_ptr<FlightRecorder> flight_;  // what is kept in memory
  CaptureStore* store_ = nullptr;           // where captures go: one of these two, or null: there is one capture
  CaptureInfo info_;
  std::vector<EventType> types_;
  std::unique_ptr<CaptureWriter> writer_;
  std::unique_ptr<CaptureWriter> next_writer_;  // opened, while the rotation into it could not be done yet
  std::unique_ptr<Recorder> recorder_;
  std::vector<Trigger> triggers_;
  std::optional<Command> command_;
  std::unique_ptr<ControlServer> control_;
  std::unique_ptr<SnapshotWriter> snapshots_;
  std::optional<Pending> pending_;
  std::vector<std::string> written_;  // snapshots
  uint64_t lost_seen_ = 0;            // lost events when a trigger last fired on them
  std::optional<int> exit_status_;    // of the command, if it ended by itself
  SelfLimits limits_{0, 0};
  bool throttled_ = false;
  uint64_t output_errors_ = 0;  // of all CPUs, and of each, when rings were last renewed
  std::vector<uint64_t> output_errors_of_cpu_;
  bool renewal_told_ = false;
  uint64_t started_ns_ = 0;
  uint64_t capture_began_ns_ = 0;
  uint64_t synced_ns_ = 0;      // when the capture was last asked to be
  uint64_t bytes_before_ = 0;   // of the captures before the one that is written
  uint64_t events_before_ = 0;  // likewise
};

}  // namespace stackmap
