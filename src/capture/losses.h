// SPDX-License-Identifier: Apache-2.0
// What the counters of a ledger mean, in one table (FORMAT.md, section 5), and what they come to together: the one
// account of what happened to every event. Whoever says how much was lost says it by this.
//
// An event is lost if somebody wanted it and it is not in the capture, whatever the reason. Events that a filter left
// out were not wanted. A stack in the event itself (a fallback), a stack that the kernel could not walk, and a string
// that was cut are no losses of events. Functions here are thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/ledger.h"

namespace stackmap {

// What one of those that a counter counts is.
enum class CounterMeaning : uint8_t {
  kHit,       // a time that a tracepoint fired
  kFiltered,  // an event that nobody wanted
  kRecorded,  // an event that is in the capture, or was when it was written
  kTask,      // a record for the task table alone: no event
  kLost,      // an event that was wanted and is not in the capture
  kNote,      // no event, or one that is counted elsewhere too
};

struct CounterKind {
  std::string_view name;  // "*" stands for some text, of one letter or more: an event, an errno, a CPU
  CounterMeaning meaning = CounterMeaning::kNote;
  std::string_view reason = {};  // kLost: why, in a few words
  // What one that is not zero says, in a line of its own; "{}" is what "*" stands for. Empty: there is no such line.
  std::string_view words = {};
};

// Every counter that stackmap writes, or has ever written. The reasons of losses are in the order in which they are
// told.
std::span<const CounterKind> counter_kinds();

struct NamedCounter {
  const CounterKind* kind = nullptr;
  std::string_view variable;  // what "*" stands for; of the name that was asked for
};
// Nothing for a name that is in no row: of a later version, or damage.
std::optional<NamedCounter> find_counter(std::string_view name);

struct Account {
  struct Reason {
    std::string_view words;  // CounterKind::reason
    uint64_t events = 0;     // not 0
  };

  bool known = false;  // the ledger has counters of tracepoints; one of an import has none
  uint64_t hits = 0;
  uint64_t filtered = 0;
  uint64_t recorded = 0;
  uint64_t lost = 0;
  // Events that somebody wanted, at least `lost`. Counters are read one after another while events go on, so it may be
  // off by a few before the end.
  uint64_t wanted = 0;
  std::vector<Reason> reasons;  // they add up to `lost`

  double lost_share() const;  // of the wanted ones, 0 to 1
};
// Sums saturate at 2^64 - 1.
Account account_of(const Ledger& ledger);

// The statistics text: "key: value" lines. First the stack map's as the kernel's stack_map_stat has them and then our
// own of it, the cookie cache's, and the account: hits, filtered, recorded, lost; then every other counter, those of
// events added up over all events. Empty where there is no map, as the kernel's file is.
std::string stat_text(const Ledger& ledger);

}  // namespace stackmap
