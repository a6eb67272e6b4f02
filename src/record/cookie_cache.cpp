// SPDX-License-Identifier: Apache-2.0
#include "record/cookie_cache.h"

#include <utility>

#include "record/record_decoder.h"

namespace stackmap {

// Four homes a place: with at most two templates a place in memory, a free one is never far.
CookieCache::CookieCache(std::span<std::byte> memory, std::function<void(uint32_t)> set_generation, Options options)
    : entries_(memory),
      tell_generation_(std::move(set_generation)),
      hash_(options.hash),
      live_(entries_.size()),
      misses_(entries_.size() / 2),
      next_id_(options.first_id),
      by_id_(entries_.size() * 4) {
  tell_generation_(0);
}

CookieCache::~CookieCache() {
  for (const auto& owned : by_id_) {
    delete owned.load(std::memory_order_relaxed);
  }
}

void CookieCache::set_generation(uint32_t generation) {
  if (generation == generation_) {
    return;
  }
  generation_ = generation;
  // Programs that begin from here on do not find the old entries.
  tell_generation_(generation);
  if (generation == 0 || generation == live_generation_) {
    return;
  }
  for (size_t place = 0; place < live_.size(); ++place) {
    withdraw(place);
  }
  live_generation_ = generation;
}

void CookieCache::withdraw(size_t place) {
  if (CachedTemplate* const old = std::exchange(live_[place], nullptr)) {
    withdrawn_.push_back(old->id);
    ++withdrawn_ever_;
  }
}

bool CookieCache::may_publish() {
  while (next_id_ <= kLastId && home(static_cast<uint32_t>(next_id_)).load(std::memory_order_relaxed) != nullptr) {
    ++next_id_;
  }
  const bool may = next_id_ <= kLastId && waiting() < entries_.size();
  counters_.refused += may ? 0 : 1;
  return may;
}

void CookieCache::publish(size_t place, uint64_t hash, const SampleTemplate& contents, Cookie cookie) {
  auto added = std::make_unique<CachedTemplate>();
  static_cast<SampleTemplate&>(*added) = contents;
  added->stored_frames.assign(contents.frames.begin(), contents.frames.end());
  added->frames = added->stored_frames;
  added->decoded = RecordDecoder::sample_of({}, *added);
  added->id = static_cast<uint32_t>(next_id_++);
  added->cookie = cookie;
  added->place = place;
  live_[place] = added.get();
  const CachedTemplate& published = *added;
  // Release: find() sees it whole. Known here before the programs can use it.
  home(published.id).store(added.release(), std::memory_order_release);
  entries_.publish(place, published.id, cookie.generation(), hash, contents);
  ++counters_.published;
}

void CookieCache::offer(const SampleTemplate& sample_template, Cookie cookie) {
  if (generation_ == 0 || cookie.generation() != generation_) {
    return;
  }
  const uint64_t hash = hash_(sample_template);
  const size_t first = entries_.place(hash, 0);
  const size_t second = entries_.place(hash, 1);
  for (const size_t place : {first, second}) {
    if (live_[place] != nullptr && *live_[place] == sample_template) {
      return;  // published since the record was sent
    }
  }
  for (const size_t place : {first, second}) {
    if (live_[place] == nullptr) {
      if (may_publish()) {
        publish(place, hash, sample_template, cookie);
      }
      return;
    }
  }
  if (++misses_[first / 2] % kReplaceEvery != 0 || !may_publish()) {
    return;
  }
  const size_t place =
      live_[first]->uses.load(std::memory_order_relaxed) <= live_[second]->uses.load(std::memory_order_relaxed)
          ? first
          : second;
  live_[place ^ 1]->uses.store(0, std::memory_order_relaxed);
  withdraw(place);
  publish(place, hash, sample_template, cookie);
  ++counters_.replaced;
}

const CachedTemplate* CookieCache::find(uint32_t id) const {
  const CachedTemplate* const found = home(id).load(std::memory_order_acquire);
  if (found == nullptr || found->id != id) {
    return nullptr;
  }
  found->uses.store(found->uses.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return found;
}

void CookieCache::end_round(uint64_t begun) {
  while (!withdrawn_.empty() && withdrawn_ever_ - withdrawn_.size() < begun) {
    delete home(withdrawn_.front()).exchange(nullptr, std::memory_order_relaxed);
    withdrawn_.pop_front();
  }
}

CookieCache::Counters CookieCache::counters() const {
  Counters counters = counters_;
  counters.hits = hits_.load(std::memory_order_relaxed);
  return counters;
}

}  // namespace stackmap
