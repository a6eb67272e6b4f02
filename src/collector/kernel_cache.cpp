// SPDX-License-Identifier: Apache-2.0
#include "collector/kernel_cache.h"

namespace stackmap {

Result<void> KernelCache::settle(RingReaders& readers,
                                 const std::function<void(uint32_t cpu, std::span<const std::byte>)>& record) {
  const uint64_t round = cookies_.begin_round();
  // CPUs with an empty batch are left asleep, unless templates wait to hear from every one.
  const bool everyone = cookies_.waiting() != 0;
  const bool all = map_->flush(everyone ? CacheMap::Flush::kEveryone : CacheMap::Flush::kWithEvents);
  STACKMAP_TRY(readers.drain());
  map_->take_offline(record);
  if (everyone && all) {
    cookies_.end_round(round);
  }
  return {};
}

}  // namespace stackmap
