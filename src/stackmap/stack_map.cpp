// SPDX-License-Identifier: Apache-2.0
#include "stackmap/stack_map.h"

#include <cassert>
#include <cerrno>
#include <limits>
#include <utility>

#include "stackmap/generation_registry.h"

namespace stackmap {

Result<std::unique_ptr<StackMap>> StackMap::create(const StackMapOptions& options) {
  STACKMAP_TRY(options.validate());
  std::unique_ptr<StackMap> map(new StackMap(options));
  if (options.start_on) {
    STACKMAP_TRY(map->on());
  }
  return map;
}

StackMap::StackMap(StackMapOptions options)
    : options_(options),
      registry_(std::make_shared<GenerationRegistry>()),
      next_generation_(options.first_generation),
      current_(kOffBit | uint64_t{kNoSeat} << kSeatShift) {}

StackMap::~StackMap() {
  assert(!older_session_exists() && "a session outlives its stack map");
}

// Under control_. The seat is ready for pins, but `current_` does not lead to it yet.
Result<uint32_t> StackMap::seat_new_generation() {
  if (next_generation_ > std::numeric_limits<uint32_t>::max()) {
    return errno_error_of(EOVERFLOW, "the stack map has used up its 32-bit generations", "start a new session");
  }
  for (uint32_t index = 0; index < kSeats; ++index) {
    Seat& seat = seats_[index];
    // Acquire: with the release in clear_seat(), the seat's last user is done with it.
    if (seat.taken.load(std::memory_order_acquire)) {
      continue;
    }
    STACKMAP_TRY_VALUE(generation, Generation::create(options_, static_cast<uint32_t>(next_generation_)));
    seat.generation = GenerationRegistry::adopt(registry_, std::move(generation));
    // Relaxed: switch_to() publishes the seat.
    seat.taken.store(true, std::memory_order_relaxed);
    ++next_generation_;
    return index;
  }
  return errno_error_of(EBUSY, "sessions of too many earlier generations of the stack map are open");
}

// Under control_. Pins are taken from the new word from here on; the old seat is cleared when its last one goes.
void StackMap::switch_to(uint64_t word) {
  // Release: the new seat is seen by those who pin it. Acquire: the old one may be cleared here.
  const uint64_t before = current_.exchange(word, std::memory_order_acq_rel);
  if (seat_of(before) != kNoSeat) {
    Seat& seat = seats_[seat_of(before)];
    const auto pins = static_cast<int64_t>(before & kPinMask);
    // Release and acquire: as in unpin().
    if (seat.balance.fetch_add(pins, std::memory_order_acq_rel) + pins == 0) {
      clear_seat(seat);
    }
  }
}

// By the one that found the seat unpinned and retired.
void StackMap::clear_seat(Seat& seat) {
  const auto generation = std::move(seat.generation);
  // Release: the seat may be given to another generation from here on.
  seat.taken.store(false, std::memory_order_release);
}

StackMap::Session StackMap::pin() {
  // Acquire: with the release of whoever seated the generation; the additions of other threads in between carry it on.
  const uint64_t word = current_.fetch_add(1, std::memory_order_acquire);
  const uint32_t seat = seat_of(word);
  const bool on = (word & kOffBit) == 0;
  return {this, seat == kNoSeat ? nullptr : &seats_[seat], on, on ? take_lane() : RefLanes::kShared};
}

// A lane for one session alone, or the shared one if there is none.
uint32_t StackMap::take_lane() {
  // The same lane again for the same thread: its counts are in this processor's cache.
  thread_local uint32_t last = 0;
  for (uint32_t tried = 0; tried < lanes_.size(); ++tried) {
    const uint32_t lane = (last + tried) % static_cast<uint32_t>(lanes_.size());
    // Acquire: with the release in unpin(), the counts of the last session in this lane are seen, and added to.
    if (!lanes_[lane].taken.load(std::memory_order_relaxed) &&
        !lanes_[lane].taken.exchange(true, std::memory_order_acquire)) {
      last = lane;
      return lane;
    }
  }
  return RefLanes::kShared;
}

void StackMap::unpin(Seat* seat, uint32_t lane) {
  if (lane != RefLanes::kShared) {
    lanes_[lane].taken.store(false, std::memory_order_release);
  }
  // Release: what this session did comes before the seat is cleared. Acquire: whoever clears it has seen all of that.
  if (seat != nullptr && seat->balance.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    clear_seat(*seat);
  }
}

Result<std::shared_ptr<const Generation>> StackMap::reset() {
  const std::lock_guard lock(control_);
  const uint64_t before = current_.load(std::memory_order_relaxed);
  if (seat_of(before) == kNoSeat) {
    return std::shared_ptr<const Generation>();
  }
  std::shared_ptr<const Generation> ended = seats_[seat_of(before)].generation;
  STACKMAP_TRY_VALUE(seat, seat_new_generation());
  // Only this thread changes the off bit, since it holds control_.
  switch_to((before & kOffBit) | uint64_t{seat} << kSeatShift);
  return ended;
}

bool StackMap::older_session_exists() const {
  const uint32_t current = seat_of(current_.load(std::memory_order_relaxed));
  for (uint32_t index = 0; index < kSeats; ++index) {
    if (index != current && seats_[index].taken.load(std::memory_order_acquire)) {
      return true;
    }
  }
  return false;
}

Result<void> StackMap::on() {
  const std::lock_guard lock(control_);
  if (seat_of(current_.load(std::memory_order_relaxed)) != kNoSeat) {
    // Relaxed: the same generation as before; pins take its seat from the same word.
    current_.fetch_and(~kOffBit, std::memory_order_relaxed);
    return {};
  }
  STACKMAP_TRY_VALUE(seat, seat_new_generation());
  switch_to(uint64_t{seat} << kSeatShift);
  return {};
}

void StackMap::off() {
  const std::lock_guard lock(control_);
  current_.fetch_or(kOffBit, std::memory_order_relaxed);
}

bool StackMap::is_on() const {
  return (current_.load(std::memory_order_relaxed) & kOffBit) == 0;
}

Result<void> StackMap::free(const Patience& patience) {
  uint32_t number = 0;
  {
    const std::lock_guard lock(control_);
    const uint64_t before = current_.load(std::memory_order_relaxed);
    if ((before & kOffBit) == 0) {
      return errno_error_of(EBUSY, "the stack map cannot be freed while it is on", "turn it off first");
    }
    if (seat_of(before) == kNoSeat) {
      return {};
    }
    number = seats_[seat_of(before)].generation->number();
    switch_to(kOffBit | uint64_t{kNoSeat} << kSeatShift);
  }
  return registry_->wait_until_gone(number, patience.stop, patience.deadline);
}

std::shared_ptr<const Generation> StackMap::snapshot() const {
  const std::lock_guard lock(control_);
  const uint32_t seat = seat_of(current_.load(std::memory_order_relaxed));
  return seat == kNoSeat ? nullptr : seats_[seat].generation;
}

std::optional<StackMapStats> StackMap::stats() const {
  const auto generation = snapshot();
  return generation ? std::optional(generation->stats()) : std::nullopt;
}

OutcomeCounts StackMap::totals() const {
  OutcomeCounts totals{};
  for (size_t i = 0; i < totals_.size(); ++i) {
    totals[i] = totals_[i].load(std::memory_order_relaxed);
  }
  return totals;
}

void StackMap::count(const OutcomeCounts& outcomes) {
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i] != 0) {
      totals_[i].fetch_add(outcomes[i], std::memory_order_relaxed);
    }
  }
}

uint64_t StackMap::memory_limit() const {
  return Generation::memory_limit(options_);
}

StackMap::Session::Session(StackMap* map, Seat* seat, bool on, uint32_t lane)
    : map_(map), seat_(seat), generation_(seat != nullptr ? seat->generation.get() : nullptr), on_(on), lane_(lane) {
  if (on_ && generation_ != nullptr) {
    generation_->use_lane(lane_);
  }
}

StackMap::Session::Session(Session&& other) noexcept
    : map_(std::exchange(other.map_, nullptr)),
      seat_(other.seat_),
      generation_(other.generation_),
      on_(other.on_),
      lane_(other.lane_),
      pending_(other.pending_),
      outcomes_(other.outcomes_) {}

StackMap::Session& StackMap::Session::operator=(Session&& other) noexcept {
  if (this != &other) {
    end();
    map_ = std::exchange(other.map_, nullptr);
    seat_ = other.seat_;
    generation_ = other.generation_;
    on_ = other.on_;
    lane_ = other.lane_;
    pending_ = other.pending_;
    outcomes_ = other.outcomes_;
  }
  return *this;
}

void StackMap::Session::hand_in() {
  pending_ = 0;
  map_->count(outcomes_);
  if (generation_ != nullptr) {
    generation_->count(outcomes_);
  }
  outcomes_ = {};
}

void StackMap::Session::end() {
  if (map_ == nullptr) {
    return;
  }
  hand_in();
  std::exchange(map_, nullptr)->unpin(seat_, lane_);
}

}  // namespace stackmap
