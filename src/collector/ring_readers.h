// SPDX-License-Identifier: Apache-2.0
// Who drains the rings: one reader on the caller's thread, or several with a thread each, on machines with many CPUs.
// Each has the rings of some CPUs, next to each other at the start, and hands what is in them to callbacks of its own.
//
// All is for the thread that made it; the callbacks of several readers run on theirs, at the same time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "collector/perf_ring.h"

namespace stackmap {

class RingReaders {
 public:
  // A reader keeps up with so many CPUs that do nothing but fire tracepoints: walking a stack takes ten times as long
  // as reading an event.
  static constexpr size_t kCpusPerReader = 8;
  static constexpr size_t kMaxReaders = 64;

  // For `asked` readers, or 0: as many as the CPUs need. At most one a CPU.
  static size_t count_for(size_t asked, size_t cpus);
  // The numbers of the CPUs that are online, in order.
  static Result<std::vector<uint32_t>> online_cpus();

  // Opens the rings of these CPUs, of `ring_bytes` each, for a reader for each of `callbacks`. The map is to outlive
  // the readers.
  static Result<std::unique_ptr<RingReaders>> create(int map_fd, uint64_t ring_bytes, const std::vector<uint32_t>& cpus,
                                                     const std::vector<RecordCallbacks>& callbacks);
  ~RingReaders();
  RingReaders(const RingReaders&) = delete;
  RingReaders& operator=(const RingReaders&) = delete;

  size_t count() const { return readers_.size(); }
  // Whose callbacks get the records of a CPU; the first one's, if it has no ring.
  size_t reader_of(uint32_t cpu) const;

  // Gives a CPU that has come online a ring, in place of the one that it may have had before, which is drained first.
  // ENODEV if it is not online any more. During a pause.
  Result<void> reopen(uint32_t cpu);

  // Whether the caller drains. Then fd() is readable when a ring has passed its watermark. Otherwise it is readable
  // when a reader has something to tell: see take_attention().
  bool alone() const { return readers_.size() == 1; }
  int fd() const;

  // Starts the threads, if there are several readers. `after_drain` is called on them after each drain, with the
  // reader's number: true asks for attention.
  Result<void> start(std::function<bool(size_t)> after_drain);
  // Ends the threads, if there are any. Each has drained what it had begun to.
  void stop();
  // Resets fd(), and returns the first error of a reader.
  Result<void> take_attention();

  // Between these no reader drains. Pauses may be nested: each ends with a resume() of its own.
  void pause();
  void resume();

  // All rings, on the caller's thread, during a pause. Returns also while records pour in.
  Result<void> drain();

 private:
  struct Reader {
    RecordCallbacks callbacks;
    std::map<uint32_t, std::unique_ptr<PerfRing>> rings;  // by CPU
    Fd epoll;                                             // of all of them
    std::thread thread;
    bool busy = false;  // under mutex_
    Result<void> drain();
  };

  RingReaders(int map_fd, uint64_t ring_bytes) : map_fd_(map_fd), ring_bytes_(ring_bytes) {}
  Result<void> open(Reader& reader, uint32_t cpu);
  void run(size_t number);
  bool drain_one(size_t number);  // false: the end

  int map_fd_;
  uint64_t ring_bytes_;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::function<bool(size_t)> after_drain_;
  Fd attention_;  // eventfd
  Fd ending_;     // eventfd, readable from stop() on

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t pauses_ = 0;
  bool ended_ = false;
  std::optional<Error> error_;
};

}  // namespace stackmap
