// SPDX-License-Identifier: Apache-2.0
// Puts files on the disk on a thread of its own: who writes them does not wait for a disk, which may be busy with
// others.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace stackmap {

class FileSyncer {
 public:
  // Its thread takes no signals, whatever the caller's mask is.
  FileSyncer();
  // Waits for what was asked for.
  ~FileSyncer();
  FileSyncer(const FileSyncer&) = delete;
  FileSyncer& operator=(const FileSyncer&) = delete;

  // `file`, but its sync() only asks for it, and returns the error of an earlier sync of this file. Asked again before
  // it was begun, it is done once. What is asked for is done also if the file is given up meanwhile, and until then the
  // file stays open. The file is for one thread, as any; it may not outlive the syncer.
  std::unique_ptr<WritableFile> wrap(std::unique_ptr<WritableFile> file);

  // Waits until all that was asked for is done, and files that were given up are closed. Returns the first error that
  // no sync() has returned, once. Thread-safe.
  Result<void> wait();

 private:
  struct Shared;
  class File;
  Result<void> ask(const std::shared_ptr<Shared>& file);
  void work(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::shared_ptr<Shared>> queue_;  // under mutex_
  bool busy_ = false;                          // a file is being synced; under mutex_
  // Errors that nobody has been told of, and whose they are; under mutex_.
  std::vector<std::pair<uint64_t, Error>> unseen_;
  uint64_t files_ = 0;   // that were wrapped; under mutex_
  std::jthread worker_;  // last: it uses all of the above
};

}  // namespace stackmap
