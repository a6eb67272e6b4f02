// SPDX-License-Identifier: Apache-2.0
// A recording in which everything that can be counted happens, played through the recorder: what a ledger holds is
// what the recorder made of it. Each of the programs' counters has a number of its own, so that none can stand for
// another.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capture/capture_writer.h"
#include "recorder/recorder.h"
#include "support/record_builder.h"

namespace stackmap_test {

class LossyRecording {
 public:
  static constexpr uint32_t kFramesAsked = 8;
  // What the programs counted, and what of it is lost.
  static constexpr uint64_t kFiltered = 1000;
  static constexpr uint64_t kRingFull = 200;
  static constexpr uint64_t kOutputError = 30;
  static constexpr uint64_t kScratchBusy = 4;
  static constexpr uint64_t kThrottled = 50000;
  static constexpr uint64_t kMissed = 600000;
  // What is played.
  static constexpr uint64_t kRecorded = 14;
  static constexpr uint64_t kTaskRecords = 1;
  static constexpr uint64_t kRejected = 5;  // one of each reason
  static constexpr uint64_t kSent = kRecorded + kTaskRecords + kRejected;
  static constexpr uint64_t kLost = kRingFull + kOutputError + kScratchBusy + kThrottled + kMissed + kRejected;

  // The recording goes into this file; `append` of it may fail from some time on.
  explicit LossyRecording(std::unique_ptr<stackmap::WritableFile> file) : memory_(16 * 640 / 8) {
    using namespace stackmap;
    StackMapOptions map_options;
    map_options.capacity = 4;
    map_options.max_depth = kFramesAsked;
    map_ = std::move(StackMap::create(map_options)).value();
    cache_ = std::make_unique<CookieCache>(std::as_writable_bytes(std::span(memory_)), [](uint32_t) {});
    Recorder::Options options;
    options.frames_asked = kFramesAsked;
    options.cache = cache_.get();
    writer_ = std::move(CaptureWriter::create(std::move(file), {}, Recorder::event_types({}), {})).value();
    recorder_ = std::make_unique<Recorder>(std::move(options), *map_, *writer_);
  }

  void play() {
    using namespace stackmap;
    kfree({1, 2});
    kfree({3, 4});
    kfree({5, 6});
    kfree({7, 8});
    kfree({9, 10});                        // the map holds four
    kfree({1, 2, 3, 4, 5, 6, 7, 8});       // as deep as was asked for
    kfree({1, 2, 3, 4, 5, 6, 7, 8, 9});    // deeper than the map takes
    kfree({});                             // no frame
    RecordBuilder failed(STACKMAP_KFREE);  // the walk failed
    failed.fields(stackmap_free_fields{8}).at(++now_, 1, 1).header.kernel_stack = -14;
    record(failed.bytes());
    RecordBuilder named(STACKMAP_KMEM_CACHE_FREE);  // a string that fills its room
    record(named.fields(stackmap_free_fields{8}).at(++now_, 1, 1).stack({1, 2}).string(std::string(63, 'n')).bytes());
    map_->off();
    recorder_->follow_map();
    kfree({1, 2});
    (void)map_->on();
    recorder_->follow_map();
    record(BatchBuilder(++now_, 1, 1).event(1, 0, {64}).event(1, 5, {72}).bytes());  // by the first template
    kfree({1, 2});
    RecordBuilder renamed(STACKMAP_TASK_RENAME);
    renamed.fields(stackmap_task_fields{7, 7, 0, 120, "task"}).at(++now_, 7, 7).header.kernel_stack =
        STACKMAP_TASK_ONLY;
    record(renamed.bytes());
    record("short");
    record(RecordBuilder(28).at(++now_, 1, 1).bytes());
    record(RecordBuilder(STACKMAP_KFREE).at(++now_, 1, 1).stack({1}).bytes());
    std::string unended =
        RecordBuilder(STACKMAP_KMEM_CACHE_FREE).fields(stackmap_free_fields{8}).at(++now_, 1, 1).string("name").bytes();
    std::fill(unended.end() - 8, unended.end(), 'x');
    record(unended);
    record(BatchBuilder(++now_, 1, 1).event(99, 0, {64}).bytes());
    recorder_->lane(0).on_lost(3, 17);
    recorder_->set_limits(18, 19);
    recorder_->end_batch();
  }

  void kfree(std::vector<uint64_t> stack) {
    RecordBuilder builder(STACKMAP_KFREE);
    record(builder.fields(stackmap_free_fields{64}).at(++now_, 1, 1).stack(std::move(stack)).bytes());
  }

  std::vector<stackmap::KernelEventCounters> kernel() const {
    stackmap::KernelEventCounters all;
    all.event = "kmem:kfree";
    all.counters.filtered = kFiltered;
    all.counters.sent = kSent;
    all.counters.batched = 3;  // two with a template, one without
    all.counters.ring_full = kRingFull;
    all.counters.output_error = kOutputError;
    all.counters.scratch_busy = kScratchBusy;
    all.counters.throttled = kThrottled;
    all.recursion_misses = kMissed;
    return {all};
  }
  stackmap::Recorder& recorder() { return *recorder_; }
  stackmap::Ledger ledger() const { return recorder_->ledger(kernel()); }

 private:
  void record(std::string_view bytes) { recorder_->lane(0).on_record(std::as_bytes(std::span(bytes)), 0); }

  uint64_t now_ = 0;
  std::vector<uint64_t> memory_;  // of the cookie cache
  std::unique_ptr<stackmap::StackMap> map_;
  std::unique_ptr<stackmap::CookieCache> cache_;
  std::unique_ptr<stackmap::CaptureWriter> writer_;
  std::unique_ptr<stackmap::Recorder> recorder_;
};

}  // namespace stackmap_test
