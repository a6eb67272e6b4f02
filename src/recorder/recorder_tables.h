// SPDX-License-Identifier: Apache-2.0
// What the lanes of a recorder share: the capture, its tables, the threads that are alive, and the cookie cache.
//
// Thread safety: each function says which of the two it is. "Any time": from all lanes' threads at the same time.
// "Alone": while no lane does anything.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "capture/capture_writer.h"
#include "process/kernel_symbol.h"
#include "record/cookie_cache.h"
#include "record/sample.h"
#include "recorder/live_tasks.h"
#include "symbolize/shared_namer.h"

namespace stackmap {

class RecorderTables {
 public:
  // `namer` and `cache` may be null. All must outlive the tables; the writer, or until start_capture().
  RecorderTables(size_t lanes, LiveTasks::Find find_task, KernelNamer* namer, CookieCache* cache,
                 CaptureWriter& writer);

  CaptureWriter& writer() const { return *writer_; }  // any time
  KernelNamer* namer() { return namer_ ? &*namer_ : nullptr; }
  // Go up when a lane must forget which strings, or which threads, the capture knows. Any time.
  uint32_t strings_epoch() const { return strings_epoch_.load(std::memory_order_relaxed); }
  uint32_t threads_epoch() const { return threads_epoch_.load(std::memory_order_relaxed); }

  // Any time, each lane with its own number. A stack that another lane may find in the map from then on is added
  // between these two, so that no block of events is written before the block with its stacks.
  void begin_store(size_t lane) { change(lane, 1, std::memory_order_relaxed); }
  void end_store(size_t lane) { change(lane, 1, std::memory_order_release); }
  // Waits for the stores that have begun; they wait for nobody who calls this. Any time.
  void await_stores() const;

  // Any time.
  void add_stack(Cookie cookie, std::span<const uint64_t> frames);
  // Frames that the capture must name: of a stack that it holds outside of its table.
  void need_names(std::span<const uint64_t> frames);
  uint64_t string_id(std::string_view text) { return writer_->string_id(text); }
  void take_task(TaskRecord record);
  // An event tells of a thread; `tgid` is 0 if it does not tell.
  void meet_task(uint32_t tid, uint32_t tgid, uint64_t time_ns);
  void offer(const SampleTemplate& sample_template, Cookie cookie);
  // Remembers the first error.
  void fail(Error error);
  // Whether there was an error, or the cookie cache wants a round.
  bool wants_attention() const { return wants_attention_.load(std::memory_order_relaxed); }

  // Alone.
  const std::optional<Error>& status() const { return status_; }
  uint64_t stacks_stored() const { return stacks_stored_; }
  void add_seen_task(TaskRecord record) { tasks_.add_seen(std::move(record)); }
  Result<void> name_addresses();
  void forget_addresses() { known_addresses_ = {}; }
  // What comes from here on is for another capture, which knows nothing yet.
  void start_capture(CaptureWriter& next);
  void attended() { wants_attention_.store(status_.has_value(), std::memory_order_relaxed); }

 private:
  struct alignas(64) StoreCount {
    std::atomic<uint32_t> changes{0};  // odd between begin_store() and end_store()
  };
  void change(size_t lane, uint32_t by, std::memory_order order) {
    auto& changes = stores_[lane].changes;  // no other thread writes it
    changes.store(changes.load(std::memory_order_relaxed) + by, order);
  }
  void need_names_locked(std::span<const uint64_t> frames);

  std::vector<StoreCount> stores_;
  std::atomic<uint32_t> strings_epoch_{1};
  std::atomic<uint32_t> threads_epoch_{1};
  std::atomic<bool> wants_attention_{false};
  CaptureWriter* writer_;
  std::optional<SharedNamer> namer_;
  CookieCache* cache_;

  std::mutex mutex_;  // of all below
  LiveTasks tasks_;
  std::unordered_set<uint64_t> known_addresses_;
  std::vector<uint64_t> unnamed_;
  uint64_t stacks_stored_ = 0;
  std::optional<Error> status_;
};

}  // namespace stackmap
