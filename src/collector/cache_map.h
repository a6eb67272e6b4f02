// SPDX-License-Identifier: Apache-2.0
// The maps of the cookie cache, and the program that sends a CPU's batch. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "record/batch_memory.h"

namespace stackmap {

// An array map that both sides see as memory.
class MappedArray {
 public:
  static Result<MappedArray> map(int map_fd, size_t bytes);
  MappedArray(MappedArray&& other) noexcept;
  MappedArray& operator=(MappedArray&&) = delete;
  MappedArray(const MappedArray&) = delete;
  ~MappedArray();
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedArray(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

class CacheMap {
 public:
  struct Handles {
    int cache_map = -1;
    int batches_map = -1;
    int flush_program = -1;
    uint32_t entries = 0;
    uint32_t cpus = 0;               // highest possible number + 1
    uint32_t* generation = nullptr;  // the programs' variable
    std::function<void()> wait;      // until every program that is running has ended
  };
  static Result<std::unique_ptr<CacheMap>> open(Handles handles);

  std::span<std::byte> entries() const { return cache_.bytes(); }
  // For CookieCache.
  void set_generation(uint32_t generation);

  enum class Flush : uint8_t {
    kWithEvents,  // the CPUs whose batches hold events
    kEveryone,
  };
  // Has these CPUs send their batches. True if all of them answered that no program of theirs is using an entry or the
  // batch. Costs an interrupt on each.
  bool flush(Flush who);
  // Hands over what the batches of CPUs hold that flush() found offline: to be called once the rings are read, which
  // hold what came before.
  void take_offline(const std::function<void(uint32_t cpu, std::span<const std::byte> record)>& record);

 private:
  enum class Answer : uint8_t { kDone, kBusy, kOffline };

  CacheMap(Handles handles, MappedArray cache, MappedArray batches);
  Answer flush_cpu(uint32_t cpu) const;

  Handles handles_;
  MappedArray cache_;
  MappedArray mapped_batches_;
  BatchMemory batches_;
  std::vector<uint32_t> offline_;  // with something in their batches
};

}  // namespace stackmap
