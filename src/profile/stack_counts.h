// SPDX-License-Identifier: Apache-2.0
// The hot table of aggregation: (stack, task name) -> weight. Open addressing, a cache line holds two entries,
// no allocation but to grow. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "profile/sequence_table.h"

namespace stackmap {

// A stack and whose it is.
struct StackKey {
  // What `stack` is: the order is the order of the report's sort, nothing more.
  enum class Kind : uint8_t { kNone, kCookie, kFallback, kError };
  uint64_t stack = 0;  // cookie, number of the fallback, or errno
  uint32_t task = 0;   // index for TaskNames::comm()
  Kind kind = Kind::kNone;
  bool operator==(const StackKey&) const = default;
};

class StackCounts {
 public:
  struct Entry {
    StackKey key;
    uint64_t value = 0;
    uint64_t count = 0;  // 0: the entry is free
  };

  StackCounts() : entries_(1024) {}

  // Takes effect in batches: the entries of a whole batch are fetched while it fills, so a table that is larger than
  // the cache costs a fraction of a miss an event.
  void add(const StackKey& key, uint64_t value) {
    pending_[pending_count_++] = {key, value, 1};
    __builtin_prefetch(&entries_[home(key)], 1);
    if (pending_count_ == pending_.size()) {
      drain();
    }
  }

  // The used ones, in no order.
  std::vector<Entry> entries() {
    drain();
    std::vector<Entry> used;
    used.reserve(used_);
    for (const Entry& entry : entries_) {
      if (entry.count != 0) {
        used.push_back(entry);
      }
    }
    return used;
  }

 private:
  size_t home(const StackKey& key) const {
    const uint64_t task_and_kind = uint64_t{key.task} << 2 | static_cast<uint8_t>(key.kind);
    return mix_bits(key.stack + task_and_kind * 0x9e3779b97f4a7c15ULL) & (entries_.size() - 1);
  }
  // The entry of the key, or the free one where it belongs.
  Entry& find(const StackKey& key) {
    size_t slot = home(key);
    while (entries_[slot].count != 0 && !(entries_[slot].key == key)) {
      slot = (slot + 1) & (entries_.size() - 1);
    }
    return entries_[slot];
  }
  void drain() {
    for (size_t i = 0; i < pending_count_; ++i) {
      const Entry& added = pending_[i];
      Entry& entry = find(added.key);
      if (entry.count == 0) {
        entry = added;
        ++used_;
        if (used_ * 2 > entries_.size()) {
          grow();
        }
        continue;
      }
      ++entry.count;
      if (__builtin_add_overflow(entry.value, added.value, &entry.value)) {
        entry.value = std::numeric_limits<uint64_t>::max();
      }
    }
    pending_count_ = 0;
  }
  void grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.count != 0) {
        find(entry.key) = entry;
      }
    }
  }

  std::array<Entry, 32> pending_;
  size_t pending_count_ = 0;
  std::vector<Entry> entries_;  // a power of two of them
  size_t used_ = 0;
};

}  // namespace stackmap
