// SPDX-License-Identifier: Apache-2.0
#include "stackmap/generation_registry.h"

#include <algorithm>
#include <cerrno>

namespace stackmap {

std::shared_ptr<Generation> GenerationRegistry::adopt(const std::shared_ptr<GenerationRegistry>& registry,
                                                      std::unique_ptr<Generation> generation) {
  {
    const std::lock_guard lock(registry->mutex_);
    registry->alive_.push_back(generation->number());
  }
  const auto remove = [registry](Generation* gone) {
    const uint32_t number = gone->number();
    delete gone;
    {
      const std::lock_guard lock(registry->mutex_);
      std::erase(registry->alive_, number);
    }
    registry->changed_.notify_all();
  };
  return {generation.release(), remove};
}

Result<void> GenerationRegistry::wait_until_gone(uint32_t number, const std::stop_token& stop,
                                                 std::chrono::steady_clock::time_point deadline) {
  const auto done = [&] { return std::find(alive_.begin(), alive_.end(), number) == alive_.end(); };
  std::unique_lock lock(mutex_);
  // The far end of the clock overflows when it is converted for the system call.
  const bool has_deadline = deadline != std::chrono::steady_clock::time_point::max();
  const bool is_done = has_deadline ? changed_.wait_until(lock, stop, deadline, done) : changed_.wait(lock, stop, done);
  if (is_done) {
    return {};
  }
  return errno_error_of(stop.stop_requested() ? EINTR : ETIMEDOUT, "waiting for the readers of the freed stack map");
}

}  // namespace stackmap
