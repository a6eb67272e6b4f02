// SPDX-License-Identifier: Apache-2.0
#include "recorder/recorder_tables.h"

#include <thread>
#include <utility>

namespace stackmap {

RecorderTables::RecorderTables(size_t lanes, LiveTasks::Find find_task, KernelNamer* namer, CookieCache* cache,
                               CaptureWriter& writer)
    : stores_(lanes), writer_(&writer), cache_(cache), tasks_(std::move(find_task)) {
  if (namer != nullptr) {
    namer_.emplace(*namer);
  }
  writer.open_streams(lanes, [this] { await_stores(); });
}

// Whoever has a cookie has it from the map, which published it after begin_store(): so the count that is read here is
// odd, or that store is done. Acquire: with the release of end_store().
void RecorderTables::await_stores() const {
  for (const StoreCount& store : stores_) {
    const uint32_t seen = store.changes.load(std::memory_order_acquire);
    while (seen % 2 != 0 && store.changes.load(std::memory_order_acquire) == seen) {
      std::this_thread::yield();
    }
  }
}

void RecorderTables::add_stack(Cookie cookie, std::span<const uint64_t> frames) {
  writer_->add_stack(cookie, frames);
  const std::lock_guard lock(mutex_);
  ++stacks_stored_;
  need_names_locked(frames);
}

void RecorderTables::need_names(std::span<const uint64_t> frames) {
  const std::lock_guard lock(mutex_);
  need_names_locked(frames);
}

void RecorderTables::need_names_locked(std::span<const uint64_t> frames) {
  for (const uint64_t frame : frames) {
    if (known_addresses_.insert(frame).second) {
      unnamed_.push_back(frame);
    }
  }
}

void RecorderTables::take_task(TaskRecord record) {
  const std::lock_guard lock(mutex_);
  const bool forgotten = tasks_.take(record);
  writer_->add_task(std::move(record));
  if (forgotten) {
    threads_epoch_.fetch_add(1, std::memory_order_relaxed);
  }
}

// A thread that the capture has no record of: it was there before it began, or its fork was lost.
void RecorderTables::meet_task(uint32_t tid, uint32_t tgid, uint64_t time_ns) {
  const std::lock_guard lock(mutex_);
  if (auto record = tasks_.meet(tid, tgid, time_ns)) {
    writer_->add_task(std::move(*record));
  }
}

void RecorderTables::offer(const SampleTemplate& sample_template, Cookie cookie) {
  const std::lock_guard lock(mutex_);
  cache_->offer(sample_template, cookie);
  if (cache_->wants_round()) {
    wants_attention_.store(true, std::memory_order_relaxed);
  }
}

void RecorderTables::fail(Error error) {
  const std::lock_guard lock(mutex_);
  if (!status_) {
    status_ = std::move(error);
    wants_attention_.store(true, std::memory_order_relaxed);
  }
}

Result<void> RecorderTables::name_addresses() {
  if (namer_ && !unnamed_.empty()) {
    STACKMAP_TRY_VALUE(symbols, namer_->name(unnamed_, AddressKind::kReturn));
    for (size_t i = 0; i < unnamed_.size(); ++i) {
      writer_->add_symbol(unnamed_[i], symbols[i]);
    }
  }
  unnamed_.clear();
  return {};
}

void RecorderTables::start_capture(CaptureWriter& next) {
  writer_ = &next;
  next.open_streams(stores_.size(), [this] { await_stores(); });
  tasks_.start_capture();
  known_addresses_.clear();
  unnamed_.clear();
  strings_epoch_.fetch_add(1, std::memory_order_relaxed);
  threads_epoch_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace stackmap
