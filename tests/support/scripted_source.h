// SPDX-License-Identifier: Apache-2.0
// A source of records that plays a script: records, losses, delays, counters, errors, in place of a kernel. Each reader
// has a script of its own, which it plays a step at a time; with several readers each does so on its own thread.
//
// The script can be written by any thread at any time, also by its own steps.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/fd.h"
#include "record/record_source.h"

namespace stackmap_test {

using namespace stackmap;

class ScriptedSource final : public RecordSource {
 public:
  explicit ScriptedSource(size_t readers = 1) : readers_(readers), attention_(::eventfd(0, EFD_NONBLOCK)) {}
  ~ScriptedSource() override { end_threads(); }

  // The script. The records of a CPU belong to reader CPU % readers.
  void record(const std::string& event, std::string bytes, uint32_t cpu = 0) {
    step(cpu, [this, event, bytes = std::move(bytes), cpu](Reader& reader) { hand_over(reader, event, bytes, cpu); });
  }
  // One that lies in a batch until the source is settled.
  void hold(const std::string& event, std::string bytes, uint32_t cpu = 0) {
    const std::lock_guard lock(mutex_);
    reader_of(cpu).held.emplace_back(
        [this, event, bytes = std::move(bytes), cpu](Reader& reader) { hand_over(reader, event, bytes, cpu); });
  }
  void lost(uint64_t count, uint32_t cpu = 0) {
    step(cpu, [count, cpu](Reader& reader) { reader.callbacks.lost(cpu, count); });
  }
  void then(std::function<void()> what, uint32_t cpu = 0) {
    step(cpu, [what = std::move(what)](Reader&) { what(); });
  }
  // Reading fails, once or from then on.
  enum class Fails : uint8_t { kOnce, kForGood };
  void fail(Error error, Fails how) {
    step(0, [error = std::move(error), how](Reader& reader) {
      reader.error = error;
      reader.fails = how;
    });
  }
  // What the programs count of an event, beside what is sent.
  void count(const std::string& event, const std::function<void(KernelEventCounters&)>& change) {
    const std::lock_guard lock(mutex_);
    KernelEventCounters& counters = counters_[event];
    counters.event = event;
    change(counters);
  }

  // What was asked of the source, in order: "open", "attach", "follow 7", "start", "read", "throttle", "record again",
  // "renew", "stop". Not for settle() and counters().
  std::vector<std::string> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  const RecordSourceOptions& options() const { return options_; }
  // Called with each of these calls.
  std::function<void(const std::string&)> on_call;
  uint32_t frames = 127;
  CookieCache* cache = nullptr;
  std::optional<Error> refuses;  // open() fails with it

  Result<uint32_t> max_frames() const override { return frames; }
  Result<void> open(RecordSourceOptions options) override {
    options_ = std::move(options);
    for (size_t i = 0; i < readers_.size(); ++i) {
      readers_[i].callbacks = options_.callbacks_of(i);
    }
    call("open");
    return refuses ? Result<void>(*refuses) : Result<void>();
  }
  size_t readers() const override { return readers_.size(); }
  CookieCache* cookies() override { return cache; }
  Result<void> attach() override { return call("attach"), Result<void>(); }
  Result<void> follow(uint32_t tid, Follow who) override {
    return call((who == Follow::kThread ? "follow only " : "follow ") + std::to_string(tid)), Result<void>();
  }
  void start() override { call("start"); }
  Result<void> read(std::function<bool(size_t)> after_drain) override {
    call("read");
    after_drain_ = std::move(after_drain);
    for (size_t i = 0; readers_.size() > 1 && i < readers_.size(); ++i) {
      readers_[i].thread = std::thread([this, i] { run(i); });
    }
    return {};
  }
  void stop() override {
    end_threads();
    call("stop");
  }

  int fd() const override { return attention_.get(); }
  Result<void> attend() override {
    uint64_t count = 0;
    (void)!::read(attention_.get(), &count, sizeof(count));
    if (readers_.size() == 1) {
      play_one(readers_.front());
    }
    const std::lock_guard lock(mutex_);
    if (readers_.size() == 1 && !readers_.front().steps.empty()) {
      ask_for_attention();
    }
    return first_error();
  }
  // What is in the script when it is called, and what was held.
  Result<void> settle() override {
    for (Reader& reader : readers_) {
      for (size_t steps = count_steps(reader); steps != 0 && !reader.error; --steps) {
        play_one(reader);
      }
      for (const Step& step : take_held(reader)) {
        step(reader);
      }
    }
    const std::lock_guard lock(mutex_);
    return first_error();
  }

  Result<std::vector<KernelEventCounters>> counters() const override {
    const std::lock_guard lock(mutex_);
    std::vector<KernelEventCounters> all;
    for (const auto& [name, counters] : counters_) {
      all.push_back(counters);
    }
    return all;
  }
  Result<void> renew_rings(const std::vector<KernelEventCounters>&) override { return call("renew"), Result<void>(); }
  void throttle(bool on) override { call(on ? "throttle" : "record again"); }

 private:
  struct Reader;
  using Step = std::function<void(Reader&)>;
  struct Reader {
    RecordCallbacks callbacks;
    std::deque<Step> steps;  // under mutex_, as all but the callbacks
    std::deque<Step> held;
    std::optional<Error> error;
    Fails fails = Fails::kOnce;
    bool busy = false;
    std::thread thread;
  };

  Reader& reader_of(uint32_t cpu) { return readers_[cpu % readers_.size()]; }
  void call(const std::string& name) {
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(name);
    }
    if (on_call) {
      on_call(name);
    }
  }
  void step(uint32_t cpu, Step step) {
    const std::lock_guard lock(mutex_);
    reader_of(cpu).steps.push_back(std::move(step));
    if (readers_.size() == 1) {
      ask_for_attention();
    }
    changed_.notify_all();
  }
  void hand_over(Reader& reader, const std::string& event, const std::string& bytes, uint32_t cpu) {
    count(event, [](KernelEventCounters& counters) { ++counters.counters.sent; });
    reader.callbacks.record(cpu, bytes_of(bytes));
  }
  void ask_for_attention() {
    const uint64_t one = 1;
    (void)!::write(attention_.get(), &one, sizeof(one));
  }
  Result<void> first_error() {
    const auto broken = std::ranges::find_if(readers_, [](const Reader& reader) { return reader.error.has_value(); });
    if (broken == readers_.end()) {
      return {};
    }
    Error error = *broken->error;
    if (broken->fails == Fails::kOnce) {
      broken->error.reset();
    }
    return error;
  }
  size_t count_steps(const Reader& reader) const {
    const std::lock_guard lock(mutex_);
    return reader.steps.size();
  }
  std::deque<Step> take_held(Reader& reader) {
    const std::lock_guard lock(mutex_);
    return std::exchange(reader.held, {});
  }
  // The next step, if there is one.
  void play_one(Reader& reader) {
    std::unique_lock lock(mutex_);
    if (reader.steps.empty()) {
      return;
    }
    const Step step = std::move(reader.steps.front());
    reader.steps.pop_front();
    lock.unlock();
    step(reader);
  }

  void run(size_t number) {
    Reader& reader = readers_[number];
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ended_ || (pauses_ == 0 && !reader.steps.empty()); });
        if (ended_) {
          return;
        }
        reader.busy = true;
      }
      play_one(reader);
      const bool asks = after_drain_(number);
      const std::lock_guard lock(mutex_);
      reader.busy = false;
      if (asks || reader.error) {
        ask_for_attention();
      }
      changed_.notify_all();
    }
  }
  void end_threads() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    for (Reader& reader : readers_) {
      if (reader.thread.joinable()) {
        reader.thread.join();
      }
    }
  }
  void pause() override {
    std::unique_lock lock(mutex_);
    ++pauses_;
    changed_.wait(lock, [&] { return std::ranges::none_of(readers_, &Reader::busy); });
  }
  void resume() override {
    const std::lock_guard lock(mutex_);
    --pauses_;
    changed_.notify_all();
  }

  RecordSourceOptions options_;
  std::deque<Reader> readers_;
  std::function<bool(size_t)> after_drain_;
  Fd attention_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  size_t pauses_ = 0;
  bool ended_ = false;
  std::map<std::string, KernelEventCounters> counters_;
  std::vector<std::string> calls_;
};

}  // namespace stackmap_test
