// SPDX-License-Identifier: Apache-2.0
#include "stackmap/generation_registry.h"

#include <algorithm>
#include <cerrno>

namespace stackmap {

std::shared_ptr<Generation> GenerationRegistry::adopt(const std::shared_ptr<GenerationRegistry>& registry,
                                                      std::unique_ptr<Generation> generation) {
  {
    const std::lock_guard lock(registry->mutex_);
    registry->alive_.push_back(generation.get());
  }
  const auto remove = [registry](Generation* gone) {
    const uint32_t number = gone->number();
    {
      // Out of the list while it can still be asked for its size, but known to be there until its memory is back.
      const std::lock_guard lock(registry->mutex_);
      std::erase(registry->alive_, gone);
      registry->leaving_.push_back(number);
    }
    delete gone;
    {
      const std::lock_guard lock(registry->mutex_);
      std::erase(registry->leaving_, number);
    }
    registry->changed_.notify_all();
  };
  return {generation.release(), remove};
}

bool GenerationRegistry::is_alive_locked(uint32_t number) const {
  return std::any_of(alive_.begin(), alive_.end(), [number](const auto* one) { return one->number() == number; }) ||
         std::find(leaving_.begin(), leaving_.end(), number) != leaving_.end();
}

bool GenerationRegistry::is_alive(uint32_t number) const {
  const std::lock_guard lock(mutex_);
  return is_alive_locked(number);
}

uint64_t GenerationRegistry::memory_used() const {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const auto* generation : alive_) {
    bytes += generation->memory_used();
  }
  return bytes;
}

void GenerationRegistry::notify() {
  // The lock keeps the change from falling between another thread's look and its sleep.
  { const std::lock_guard lock(mutex_); }
  changed_.notify_all();
}

Result<void> GenerationRegistry::wait(const std::stop_token& stop, std::chrono::steady_clock::time_point deadline,
                                      const std::function<bool()>& done, const char* what) {
  std::unique_lock lock(mutex_);
  // The far end of the clock overflows when it is converted for the system call.
  const bool has_deadline = deadline != std::chrono::steady_clock::time_point::max();
  const bool is_done = has_deadline ? changed_.wait_until(lock, stop, deadline, done) : changed_.wait(lock, stop, done);
  if (is_done) {
    return {};
  }
  return errno_error_of(stop.stop_requested() ? EINTR : ETIMEDOUT, what);
}

Result<void> GenerationRegistry::wait_until_gone(uint32_t number, const std::stop_token& stop,
                                                 std::chrono::steady_clock::time_point deadline) {
  return wait(
      stop, deadline, [&] { return !is_alive_locked(number); }, "waiting for the readers of the freed stack map");
}

}  // namespace stackmap
