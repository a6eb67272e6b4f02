// SPDX-License-Identifier: Apache-2.0
#include "record/cache_entries.h"

#include <atomic>
#include <bit>
#include <cassert>

#include "bpf/stackmap_cache.h"

namespace stackmap {

static_assert(CacheEntries::kEntryBytes == sizeof(stackmap_cache_entry));

namespace {

// A plain store on x86; on arm64 the instruction that the order needs.
template <typename T, typename V>
void store(T& place, V value) {
  std::atomic_ref<T>(place).store(static_cast<T>(value), std::memory_order_release);
}

}  // namespace

CacheEntries::CacheEntries(std::span<std::byte> memory)
    : entries_(reinterpret_cast<stackmap_cache_entry*>(memory.data())), size_(memory.size() / kEntryBytes) {
  assert(std::has_single_bit(size_) && size_ >= 2);
}

// The order is bpf/stackmap_cache.h's. A release store comes after all stores before it, so each of these is seen after
// `id` is 0, and before it is the new one.
void CacheEntries::publish(size_t place, uint32_t id, uint32_t generation, uint64_t hash,
                           const SampleTemplate& contents) {
  stackmap_cache_entry& entry = entries_[place];
  store(entry.id, 0U);
  store(entry.generation, generation);
  store(entry.hash, hash);
  store(entry.key.shape, contents.shape);
  for (size_t i = 0; i < contents.fields.size(); ++i) {
    store(entry.key.fields[i], contents.fields[i]);
  }
  for (size_t i = 0; i < contents.string.size(); ++i) {
    store(entry.string[i], contents.string[i]);
  }
  for (size_t i = 0; i < contents.frames.size(); ++i) {
    store(entry.frames[i], contents.frames[i]);
  }
  store(entry.id, id);
}

}  // namespace stackmap
