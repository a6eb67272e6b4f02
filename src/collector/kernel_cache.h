// SPDX-License-Identifier: Apache-2.0
// The cookie cache of one recording: the maps, and what is published in them. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/result.h"
#include "collector/cache_map.h"
#include "collector/ring_readers.h"
#include "record/cookie_cache.h"

namespace stackmap {

class KernelCache {
 public:
  explicit KernelCache(std::unique_ptr<CacheMap> map)
      : map_(std::move(map)),
        cookies_(map_->entries(), [this](uint32_t generation) { map_->set_generation(generation); }) {}

  CookieCache& cookies() { return cookies_; }

  // Reads all that was recorded by now, also what the batches hold: they are sent, and the rings are read. What CPUs
  // that are offline have in theirs goes to `record`, as the rings' records go to the rings' own callbacks. No reader
  // may drain meanwhile.
  Result<void> settle(RingReaders& readers,
                      const std::function<void(uint32_t cpu, std::span<const std::byte>)>& record);

 private:
  std::unique_ptr<CacheMap> map_;
  CookieCache cookies_;
};

}  // namespace stackmap
