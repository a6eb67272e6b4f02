// SPDX-License-Identifier: Apache-2.0
// What a BPF program does with the cookie cache, by the functions that it shares with user space.
#pragma once

#include <vector>

#include "bpf/stackmap_cache.h"
#include "record/sample_template.h"

namespace stackmap_test {

class CacheReader {
 public:
  explicit CacheReader(size_t entries) : entries_(entries) {}

  std::span<std::byte> memory() { return std::as_writable_bytes(std::span(entries_)); }
  void set_generation(uint32_t generation) { generation_ = generation; }
  uint32_t generation() const { return generation_; }
  std::vector<stackmap_cache_entry>& entries() { return entries_; }

  // cache_find() of bpf/cache.bpf.h.
  uint32_t find(const stackmap::SampleTemplate& wanted,
                stackmap::TemplateHash hash_of = stackmap::template_hash) const {
    if (generation_ == 0) {
      return 0;
    }
    const uint64_t hash = hash_of(wanted);
    const stackmap_cache_key key = {wanted.shape, {wanted.fields[0], wanted.fields[1]}};
    const std::vector<__u64> string(wanted.string.begin(), wanted.string.end());
    std::vector<__u64> frames(wanted.frames.begin(), wanted.frames.end());
    frames.resize(STACKMAP_CACHE_FRAMES);
    __u64 fence = 0;
    for (size_t way = 0; way < 2; ++way) {
      const stackmap_cache_entry& entry = entries_[(hash & (entries_.size() - 1)) ^ way];
      const uint32_t id = stackmap_cache_match(&entry, generation_, hash, &key, string.data(), frames.data(), &fence);
      if (id != 0) {
        return id;
      }
    }
    return 0;
  }

 private:
  std::vector<stackmap_cache_entry> entries_;
  uint32_t generation_ = 0;
};

// A template of a kfree with this stack, which must outlive it.
inline stackmap::SampleTemplate kfree_template(std::span<const uint64_t> frames) {
  stackmap::SampleTemplate result;
  result.shape = stackmap_cache_shape(STACKMAP_KFREE, 0, frames.size() * 8);
  result.frames = frames;
  return result;
}

}  // namespace stackmap_test
