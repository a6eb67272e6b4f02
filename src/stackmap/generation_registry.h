// SPDX-License-Identifier: Apache-2.0
// Which generations of a map are alive, and where one waits for them to go. Thread-safe. Outlives the map, since
// whoever holds the last reference to a generation reports here that it is gone.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
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

  // Waits until the generation is gone. EINTR or ETIMEDOUT if that comes first.
  Result<void> wait_until_gone(uint32_t number, const std::stop_token& stop,
                               std::chrono::steady_clock::time_point deadline);

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<uint32_t> alive_;  // their numbers
};

}  // namespace stackmap
