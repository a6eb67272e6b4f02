// SPDX-License-Identifier: Apache-2.0
// Which templates the BPF programs may send by an id in place of a record, and what each id stands for.
//
// What holds
//   - An id names one template for ever. A batch is resolved by what was published under its ids, whatever has been
//     published since, so an event never shows another event's stack or fields.
//   - A template is kept for as long as a batch can name it: until it was withdrawn (replaced, or its generation is not
//     the map's any more) and a round passed after that, in which every CPU said that none of its programs was using
//     an entry, every batch was sent, and the rings were read.
//   - A cookie is used while the map hands out cookies of its generation. What arrives later has its frames, to be
//     interned anew: that is the recorder's part.
//
// A template has two places. It goes to a free one at first sight. Where others are in both, each kReplaceEvery-th miss
// replaces the one that was used less, so that templates that are as busy as those do not drive each other out all
// the time.
//
// Limits: ids are 32 bits; with 2^32 - 2^22 of them used nothing is published any more. While as many withdrawn
// templates as there are places wait for a round nothing is published either; at most twice as many templates as there
// are places are in memory, of up to 1 KB each. The programs read the entries at any time. Thread safety: find() and
// add_hits() beside each other and beside one offer(); the rest while nobody calls anything.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "record/cache_entries.h"
#include "record/sample_template.h"
#include "stackmap/cookie.h"

namespace stackmap {

struct CachedTemplate : SampleTemplate {
  uint32_t id = 0;
  Cookie cookie;
  size_t place = 0;
  std::vector<uint64_t> stored_frames;
  // A sample of it, with all that differs from event to event 0.
  Sample decoded;
  // Since its place was last in demand. Lanes may lose counts of each other.
  mutable std::atomic<uint64_t> uses{0};
  // For the recorder: the id of its string in the capture.
  mutable std::atomic<uint64_t> string_id{0};
};

class CookieCache {
 public:
  static constexpr uint32_t kReplaceEvery = 16;
  static constexpr uint32_t kLastId = UINT32_MAX - (uint32_t{1} << 22);  // what is above says the thread in a batch

  struct Counters {
    uint64_t published = 0;
    uint64_t replaced = 0;  // of those, in a place that was taken
    uint64_t hits = 0;      // events by id
    uint64_t refused = 0;   // offers that would have been published, but for the limits
  };

  struct Options {
    TemplateHash hash = template_hash;  // the programs' own; another one is for tests
    uint32_t first_id = 1;
  };

  // `memory` is what the programs see as entries (see CacheEntries), all zero. `set_generation` tells them of which
  // generation they may use entries, 0: of none; it is called from the constructor on.
  CookieCache(std::span<std::byte> memory, std::function<void(uint32_t)> set_generation, Options options);
  ~CookieCache();
  CookieCache(const CookieCache&) = delete;
  CookieCache& operator=(const CookieCache&) = delete;
  CookieCache(std::span<std::byte> memory, std::function<void(uint32_t)> set_generation)
      : CookieCache(memory, std::move(set_generation), Options()) {}

  // The generation of the cookies that the map hands out; 0 while it hands out none. Templates of another one are
  // withdrawn. After 0 the same generation goes on with its templates.
  void set_generation(uint32_t generation);

  // A sample came as a record, and its stack got this cookie.
  void offer(const SampleTemplate& sample_template, Cookie cookie);
  // Null if nothing was published under the id, or it is long gone. Valid until end_round().
  const CachedTemplate* find(uint32_t id) const;
  void add_hits(uint64_t hits) { hits_.fetch_add(hits, std::memory_order_relaxed); }

  // A round: begin_round(); every CPU sends its batch and says that no program uses an entry; the rings are read;
  // end_round() with what begin_round() returned. Not ended if a CPU did not answer.
  uint64_t begin_round() const { return withdrawn_ever_; }
  void end_round(uint64_t begun);
  // Withdrawn templates that wait for a round.
  size_t waiting() const { return withdrawn_.size(); }
  // So many that a round should not wait for the next flush.
  bool wants_round() const { return waiting() >= entries_.size() / 2; }

  Counters counters() const;

 private:
  const std::atomic<CachedTemplate*>& home(uint32_t id) const { return by_id_[id & (by_id_.size() - 1)]; }
  std::atomic<CachedTemplate*>& home(uint32_t id) { return by_id_[id & (by_id_.size() - 1)]; }
  bool may_publish();  // counts a refusal
  void publish(size_t place, uint64_t hash, const SampleTemplate& contents, Cookie cookie);
  void withdraw(size_t place);

  CacheEntries entries_;
  std::function<void(uint32_t)> tell_generation_;
  TemplateHash hash_;
  uint32_t generation_ = 0;
  uint32_t live_generation_ = 0;       // of the templates in live_
  std::vector<CachedTemplate*> live_;  // by place
  std::vector<uint32_t> misses_;       // by pair of places
  uint64_t next_id_;
  std::vector<std::atomic<CachedTemplate*>> by_id_;  // owned
  std::deque<uint32_t> withdrawn_;                   // ids, oldest first
  uint64_t withdrawn_ever_ = 0;
  Counters counters_;  // but for the hits
  std::atomic<uint64_t> hits_{0};
};

}  // namespace stackmap
