// SPDX-License-Identifier: Apache-2.0
// Distinct sequences (of frames, of addresses), numbered from 0 in the order in which they were first met. The full
// sequence is compared, never its hash alone. Up to 2^32 - 2 sequences. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stackmap {

// Spreads the bits of `value`: the finaliser of MurmurHash3 (public domain).
inline uint64_t mix_bits(uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdULL;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53ULL;
  return value ^ (value >> 33);
}

template <typename T>
class SequenceTable {
 public:
  uint32_t intern(std::span<const T> items) {
    if ((entries_.size() + 1) * 2 > slots_.size()) {
      grow();
    }
    uint64_t hash = items.size();
    for (const T& item : items) {
      hash = mix_bits(hash ^ static_cast<uint64_t>(item)) + 0x9e3779b97f4a7c15ULL;
    }
    for (size_t slot = hash & mask();; slot = (slot + 1) & mask()) {
      if (slots_[slot] == 0) {
        entries_.push_back({hash, pool_.size(), items.size()});
        pool_.insert(pool_.end(), items.begin(), items.end());
        slots_[slot] = static_cast<uint32_t>(entries_.size());
        return slots_[slot] - 1;
      }
      const Entry& entry = entries_[slots_[slot] - 1];
      if (entry.hash == hash && std::ranges::equal(span_of(entry), items)) {
        return slots_[slot] - 1;
      }
    }
  }

  // Valid until the next intern().
  std::span<const T> at(size_t index) const { return span_of(entries_[index]); }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    uint64_t hash = 0;
    size_t first = 0;
    size_t count = 0;
  };

  size_t mask() const { return slots_.size() - 1; }
  std::span<const T> span_of(const Entry& entry) const { return std::span(pool_).subspan(entry.first, entry.count); }
  void grow() {
    slots_.assign(std::max<size_t>(64, slots_.size() * 2), 0);
    for (size_t i = 0; i < entries_.size(); ++i) {
      size_t slot = entries_[i].hash & mask();
      while (slots_[slot] != 0) {
        slot = (slot + 1) & mask();
      }
      slots_[slot] = static_cast<uint32_t>(i + 1);
    }
  }

  std::vector<T> pool_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  // index + 1; 0 is free
};

}  // namespace stackmap
