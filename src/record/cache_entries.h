// SPDX-License-Identifier: Apache-2.0
// Writes the entries of the cookie cache (bpf/stackmap_cache.h), in memory that the BPF programs read meanwhile. An
// entry is read as a whole or not at all, provided that no id is ever used twice. One thread writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "record/sample_template.h"

struct stackmap_cache_entry;

namespace stackmap {

class CacheEntries {
 public:
  static constexpr size_t kEntryBytes = 640;

  // `memory` is aligned to 8 bytes and holds a power of two of entries, at least 2. It must outlive this.
  explicit CacheEntries(std::span<std::byte> memory);

  size_t size() const { return size_; }
  // The two places where a template with this hash is looked for, `way` 0 and 1.
  size_t place(uint64_t hash, size_t way) const { return (hash & (size_ - 1)) ^ way; }
  // `id` is not 0, and was never used before.
  void publish(size_t place, uint32_t id, uint32_t generation, uint64_t hash, const SampleTemplate& contents);

 private:
  stackmap_cache_entry* entries_;
  size_t size_;
};

}  // namespace stackmap
