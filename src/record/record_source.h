// SPDX-License-Identifier: Apache-2.0
// Where records come from: what a recording asks of the kernel's side, and all that it knows of it. The kernel itself
// is one (collector/kernel_source.h), a script of a test another (tests/support/scripted_source.h).
//
// A source has one or more readers. Each reads what some CPUs send and hands it to callbacks of its own, so that the
// records of a CPU all come from one reader and in order. One reader reads on the caller's thread, inside of attend()
// and settle(). Several read on threads of their own from read() to stop(); nothing is read during a pause.
//
// The order of the calls: max_frames(); open(); attach(); follow() where it was narrowed; start(); read(); then the
// others, in any order; stop(). After stop(): settle() and counters() alone. A recording that fails may end anywhere in
// between.
//
// Thread safety: all is for one thread, but the callbacks of several readers, which run at the same time. What reads or
// changes what readers do (attend(), settle(), renew_rings()) is for a pause, or before read() or after stop().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/cookie_cache.h"
#include "record/program_counters.h"
#include "record/tracepoint.h"

namespace stackmap {

// What a reader hands over.
struct RecordCallbacks {
  // One record, perhaps padded at its end; the bytes are valid during the call.
  std::function<void(uint32_t cpu, std::span<const std::byte> bytes)> record;
  // So many records were lost on the CPU since it last told.
  std::function<void(uint32_t cpu, uint64_t count)> lost;
};

struct RecordSourceOptions {
  EventSelection events;
  uint32_t frames = 127;                      // of the deepest stack to take; 1 to max_frames()
  bool narrowed = false;                      // record only what is given to follow()
  uint32_t cache_entries = 0;                 // of the cookie cache: a power of two of at least 2; 0: without it
  uint64_t ring_bytes = uint64_t{512} << 10;  // a CPU: a power of two of at least a page
  size_t readers = 0;                         // 0: as many as the CPUs need
  // The callbacks of each reader, by its number. They are called from read() on, or by attend() and settle().
  std::function<RecordCallbacks(size_t reader)> callbacks_of;
  // Told what a person should know.
  std::function<void(const std::string&)> note;
};

enum class Follow : uint8_t {
  kThread,       // it alone
  kDescendants,  // and the threads and processes that it starts
};

class RecordSource {
 public:
  virtual ~RecordSource() = default;

  // Frames of the deepest stack that it can take.
  virtual Result<uint32_t> max_frames() const = 0;
  // Makes ready all that records need. Nothing is recorded yet.
  virtual Result<void> open(RecordSourceOptions options) = 0;
  // After open().
  virtual size_t readers() const = 0;
  // What may be sent in batches; null: nothing. After open(), and as long as the source lives.
  virtual CookieCache* cookies() = 0;

  // From here on forks, execs, renames and exits are sent, for the task table.
  virtual Result<void> attach() = 0;
  // A thread to record.
  virtual Result<void> follow(uint32_t tid, Follow who) = 0;
  // From here on events are sent and hits are counted.
  virtual void start() = 0;
  // Starts the readers' threads, where there are several readers. `after_drain` is called on them after each run of
  // records, with the reader's number: true asks for attend().
  virtual Result<void> read(std::function<bool(size_t reader)> after_drain) = 0;
  // Ends the readers' threads, then the recording, and waits until nothing is sent any more: the counters are final
  // then, and settle() reads the rest.
  virtual void stop() = 0;

  // Readable when attend() has something to do: with one reader when there is much to read, with several when one of
  // them has asked.
  virtual int fd() const = 0;
  // One reader reads. Of several, returns the first error of one.
  virtual Result<void> attend() = 0;
  // Hands over all that was recorded by now, and ends a round of the cookie cache if every CPU has answered. Returns
  // also while records pour in.
  virtual Result<void> settle() = 0;

  // By event, over all CPUs. Cumulative.
  virtual Result<std::vector<KernelEventCounters>> counters() const = 0;
  // Reads on CPUs that have come online meanwhile, which the counters tell of: to be called with them now and then.
  virtual Result<void> renew_rings(const std::vector<KernelEventCounters>& counters) = 0;
  // While throttled, events are counted and not sent, but for the rare ones that the task table needs too.
  virtual void throttle(bool on) = 0;

  // While it lives no reader reads. May be taken again by whoever has one.
  class Pause {
   public:
    explicit Pause(RecordSource& source) : source_(source) { source_.pause(); }
    ~Pause() { source_.resume(); }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    RecordSource& source_;
  };

 private:
  virtual void pause() = 0;
  virtual void resume() = 0;
};

}  // namespace stackmap
