// SPDX-License-Identifier: Apache-2.0
// The stack map: keeps each distinct stack once and hands out a 64-bit cookie for it. The contract is that of the
// kernel's ftrace stack map series (v8), with its gaps closed.
//
// What holds
//   - Two different stacks never share a cookie; one stack has at most one cookie in a generation.
//   - intern() either returns a cookie or says why not. Each outcome is counted, by reason. A stack that is stored
//     is found for as long as its generation lasts, also when the map is full.
//   - A generation is the life of the map between two resets. Generations start at 1 and grow by one at every reset
//     and every free; none is used twice. After 2^32 - 1 there is no next one: reset(), and on() after a free, fail
//     with EOVERFLOW, and a map that is there goes on as it is.
//   - A cookie carries the generation that stored the stack. A generation that has ended can be read for as long as
//     somebody holds it (snapshot(), or what reset() returns); its memory goes with the last holder.
//
// Sessions and resets
//   Threads intern through a Session, taken with pin() for one batch of samples. A session keeps one generation, and
//   whether the map was on, from pin() to its end. So against a reset, off or free:
//   - a session pinned before reset() returns may hand out cookies of the generation that ends, also afterwards;
//   - a session pinned after reset() has returned hands out cookies of the new one only;
//   - reset() does not wait, so that a thread may call it with a session of its own open, and a slow recorder cannot
//     hold up whoever asks for the reset. The generation that ended is complete when its last session has ended.
//   No event is lost in between: every intern goes to one of the two generations, or is a counted fallback.
//
// Cost
//   intern(): one hash of the stack, at most 64 slots looked at, one compare per slot of equal hash. It takes no lock
//   and waits for nobody. It allocates once per 256 KiB of new frames and otherwise not at all. Threads that hit
//   stored stacks write no memory in common, up to seven sessions at a time; more share the `ref` counts.
//   pin() and the end of a session: two atomic operations each, plus one a counter that changed. The last session of a
//   generation that has ended also takes a lock, and frees the generation if nobody else holds it.
//
// Limits
//   capacity 4 to 4,194,304 stacks; depth 1 to 1,024 frames; arena 64 KiB to 32 GiB. memory_limit() is the ceiling of
//   one generation. A reset makes the new one before the old one can go, so with a reset under way, and for as long as
//   somebody holds ended generations, each of those adds its own. At most 15 ended generations can be pinned; with all
//   of them pinned reset() fails with EBUSY and changes nothing.
//
// Thread safety: all of StackMap and Generation from any thread; a Session from one thread at a time. Every session
// ends before its map does. Snapshots may outlive the map.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>

#include "base/result.h"
#include "stackmap/cookie.h"
#include "stackmap/fallback.h"
#include "stackmap/generation.h"
#include "stackmap/stack_map_stats.h"

namespace stackmap {

class GenerationRegistry;

// How long a call may wait. By default for ever.
struct Patience {
  std::stop_token stop;  // ends the wait with EINTR
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();  // with ETIMEDOUT
};

class StackMap {
 public:
  class Session;

  // Allocates the first map and turns it on, unless `options.start_on` is false. Fails with kUsage for options out of
  // range, and with ENOMEM.
  static Result<std::unique_ptr<StackMap>> create(const StackMapOptions& options);
  StackMap(const StackMap&) = delete;
  StackMap& operator=(const StackMap&) = delete;
  ~StackMap();

  Session pin();

  // Ends the generation and returns it. Returns null, and does nothing, while there is no map. Works on a map that is
  // off, and leaves it off. On failure (ENOMEM, EBUSY, EOVERFLOW) the generation goes on.
  Result<std::shared_ptr<const Generation>> reset();

  // Allocates a map if there is none, with the next generation. ENOMEM, EBUSY and EOVERFLOW leave the map off.
  Result<void> on();
  // Sessions pinned from then on hand out no cookies. The map stays, so that what was recorded can be resolved.
  void off();
  bool is_on() const;

  // Drops the map. Refused with EBUSY while it is on; nothing to do while there is none. Whoever looks for a map from
  // then on finds none. Waits for the sessions and snapshots of the dropped map, then its memory is back. With EINTR
  // or ETIMEDOUT the map is dropped all the same, and its memory goes with the last of them. A caller that holds a
  // session or snapshot of the map itself would wait for itself: let go first, or set a deadline.
  Result<void> free(const Patience& patience = {});

  // The current generation; null while there is no map. Readers hold it for as long as they read.
  std::shared_ptr<const Generation> snapshot() const;

  // Counters trail by what open sessions have not handed in: at most Session::kHandInEvery interns each. They are
  // exact while no session is open.
  std::optional<StackMapStats> stats() const;  // none while there is no map
  // Over all generations, and over the times when there was no map.
  OutcomeCounts totals() const;

  const StackMapOptions& options() const { return options_; }  // with the defaults filled in
  uint64_t memory_limit() const;                               // ceiling of one generation, in bytes

 private:
  static constexpr size_t kSeats = 16;

  // Where a generation sits while sessions can be pinned to it. Sessions are counted in two halves: pins in the low
  // bits of `current_`, ends in `balance`, which goes negative until the generation ends and the pins are added.
  // Then the balance is what is still pinned, and whoever brings it to zero clears the seat.
  struct alignas(64) Seat {
    std::atomic<int64_t> balance{0};
    std::atomic<bool> taken{false};
    std::shared_ptr<Generation> generation;
  };
  static constexpr uint32_t kNoSeat = 127;
  static constexpr uint64_t kOffBit = uint64_t{1} << 63;
  static constexpr int kSeatShift = 56;
  static constexpr uint64_t kPinMask = (uint64_t{1} << kSeatShift) - 1;

  explicit StackMap(StackMapOptions options);
  static uint32_t seat_of(uint64_t word) { return static_cast<uint32_t>(word >> kSeatShift) & 127; }
  Result<uint32_t> seat_new_generation();
  void switch_to(uint64_t word);
  void clear_seat(Seat& seat);
  uint32_t take_lane();
  void unpin(Seat* seat, uint32_t lane);
  void count(const OutcomeCounts& outcomes);
  bool older_session_exists() const;

  StackMapOptions options_;
  std::shared_ptr<GenerationRegistry> registry_;
  mutable std::mutex control_;  // reset, on, off, free and snapshot, one at a time
  uint64_t next_generation_;    // under control_; 64 bits, so that the end shows
  // Off bit, seat, and the number of pins since the generation was seated: one addition takes a pin.
  alignas(64) std::atomic<uint64_t> current_;
  std::array<Seat, kSeats> seats_;
  struct alignas(64) Lane {
    std::atomic<bool> taken{false};
  };
  std::array<Lane, RefLanes::kShared> lanes_;
  alignas(64) std::array<std::atomic<uint64_t>, kFallbackCount> totals_{};
};

// A pin on one generation. Move-only; unpins when it goes.
class StackMap::Session {
 public:
  static constexpr uint32_t kHandInEvery = 1024;

  Session(Session&& other) noexcept;
  Session& operator=(Session&& other) noexcept;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { end(); }

  // The cookie of the stack, innermost frame first, or the reason why it has none. May be called after another thread
  // has reset or freed the map; see the order of events above.
  Interned intern(std::span<const uint64_t> frames) {
    const Interned result = on_ ? generation_->intern(frames, lane_) : Interned{{}, Fallback::kOff, false};
    ++outcomes_[static_cast<size_t>(result.fallback)];
    if (++pending_ == kHandInEvery) {
      hand_in();
    }
    return result;
  }

  // Hands out once more a cookie that an earlier intern() gave, without the stack: counts what intern() of that stack
  // would have counted (`ref`, successes), at the cost of one slot. False, and nothing counted, if this session hands
  // out no such cookie: the map is off, the cookie is of another generation, or no stack of this one has it. The
  // caller then interns the stack.
  bool hand_out_again(Cookie cookie) {
    if (!on_ || !generation_->count_again(cookie, lane_)) {
      return false;
    }
    ++outcomes_[static_cast<size_t>(Fallback::kNone)];
    if (++pending_ == kHandInEvery) {
      hand_in();
    }
    return true;
  }

  bool on() const { return on_; }
  // What the session's cookies carry; 0 while there is no map.
  uint32_t generation() const { return generation_ != nullptr ? generation_->number() : 0; }

  // Counts what was interned, and unpins. A session that has ended must not be used.
  void end();

 private:
  friend class StackMap;
  Session(StackMap* map, Seat* seat, bool on, uint32_t lane);
  void hand_in();

  StackMap* map_;
  Seat* seat_;  // null while there is no map
  Generation* generation_;
  bool on_;
  uint32_t lane_;
  uint32_t pending_ = 0;
  OutcomeCounts outcomes_{};
};

}  // namespace stackmap
