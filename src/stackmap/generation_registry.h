// SPDX-License-Identifier: Apache-2.0
// Which generations of a map are alive, and where one waits for them to go. Thread-safe. Outlives the map, since
// whoever holds the last reference to a generation reports here that it is gone.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "stackmap/generation.h"

namespace stackmap {

class GenerationRegistry {
 public:
  // The generation, in a pointer whose last copy frees it, and reports that after the memory is back.
  static std::shared_ptr<Generation> adopt(const std::shared_ptr<GenerationRegistry>& registry,
                                           std::unique_ptr<Generation> generation);

  bool is_alive(uint32_t number) const;
  uint64_t memory_used() const;

  // Makes those who wait look again.
  void notify();
  // Waits until `done()`, which is asked at first and after each notify(). EINTR or ETIMEDOUT with `what` as context.
  // `done` may take no lock.
  Result<void> wait(const std::stop_token& stop, std::chrono::steady_clock::time_point deadline,
                    const std::function<bool()>& done, const char* what);
  // The same, until the generation is gone.
  Result<void> wait_until_gone(uint32_t number, const std::stop_token& stop,
                               std::chrono::steady_clock::time_point deadline);

 private:
  bool is_alive_locked(uint32_t number) const;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<const Generation*> alive_;
  std::vector<uint32_t> leaving_;  // numbers of those that are being freed
};

}  // namespace stackmap
