// SPDX-License-Identifier: Apache-2.0
#include "capture/losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/saturating.h"

namespace stackmap {

namespace {

using enum CounterMeaning;

constexpr CounterKind kKinds[] = {
    {"event.*.hits", kHit},
    {"event.*.filtered", kFiltered},
    {"event.*.sent"},
    {"event.*.batched"},
    {"event.*.recorded", kRecorded},
    {"event.*.task_records", kTask},
    {"event.*.ring_full", kLost, "ring full"},
    {"event.*.scratch_busy", kLost, "scratch busy"},
    {"event.*.recursion_misses", kLost, "missed (recursion)"},
    {"event.*.output_error", kLost, "output error"},
    {"event.*.throttled", kLost, "throttled (--max-cpu)"},
    {"reject.*", kLost, "not decoded", "samples that could not be decoded: {} (among those above)"},
    {"write.lost_events", kLost, "not written", "events that could not be written (among those above)"},
    {"import.lost_events", kLost, "lost by the trace", "events that the trace says were lost"},
    {"recover.events_lost", kLost, "damaged",
     "events that were in damaged or missing blocks when the capture was recovered"},
    {"copy.left_out", kFiltered, "", "events of other times, which this copy leaves out"},
    {"stack.truncated", kNote, "", "stacks deeper than the kernel walks: their outermost frames are missing"},
    {"stack.error.*", kNote, "", "events whose stack the kernel could not walk ({}); they are kept without one"},
    {"fallback.full", kNote, "", "stacks recorded in full because the map was full"},
    {"fallback.probes", kNote, "", "stacks recorded in full because the map found no free slot near theirs"},
    {"fallback.arena", kNote, "", "stacks recorded in full because the map's memory ran out"},
    {"fallback.being_published", kNote, "",
     "stacks recorded in full because another thread was storing one in their slot"},
    {"fallback.too_deep", kNote, "", "stacks recorded in full because they are deeper than the map takes"},
    {"fallback.off", kNote, "", "stacks recorded in full because the map was off"},
    {"fallback.empty", kNote, "", "stacks without a frame"},
    {"ring.lost.cpu*", kNote, "",
     "records that the ring of CPU {} says it dropped, a batch of events being one (among those above)"},
    {"ring.bytes"},
    {"string.truncated", kNote, "", "strings as long as a sample can carry, which may have been longer"},
    {"write.failures", kNote, "", "writes to the capture that failed"},
    {"limit.cpu", kNote, "", "times that the recorder reached its ceiling of CPU time, and counted events alone"},
    {"limit.memory", kNote, "", "times that the recorder reached its ceiling of memory, and began a new generation"},
    {"map.*"},
    {"cache.*"},
    {"import.events", kRecorded},
    {"import.stale_cookies", kNote, "", "events whose cookie is of a generation that no imported stack_map is of"},
    {"import.unknown_cookies", kNote, "",
     "events whose cookie is not in its generation's stack_map, which was saved too early"},
    {"import.lost_uncounted", kNote, "", "places where the trace says that events were lost, and not how many"},
    {"import.overwritten", kNote, "", "entries of the trace's ring that were overwritten before they were read"},
    {"import.user_stacks", kNote, "", "user stacks of the trace, which are left out"},
    {"import.skipped_lines", kNote, "", "lines of the text that were not understood"},
    {"recover.stacks_missing", kNote, "",
     "events whose stack was lost when the capture was recovered; they are kept without one"},
    {"recover.strings_missing", kNote, "", "strings that were lost when the capture was recovered; they read '?'"},
    {"recover.bad_blocks", kNote, "", "damaged blocks that recovering left out"},
    {"recover.missing_blocks", kNote, "", "blocks that were missing when the capture was recovered"},
    {"recover.skipped_bytes", kNote, "", "bytes between blocks that recovering left out"},
    {"recover.torn_bytes", kNote, "", "bytes of unfinished blocks that recovering left out"},
    {"recover.unfinished_files", kNote, "",
     "files that had no end when they were recovered: what came after is not known"},
    {"recover.missing_segments", kNote, "", "segments that were not there when the capture was recovered"},
};

// What "*" stands for, if the name is of this kind.
std::optional<std::string_view> variable_of(std::string_view name, std::string_view kind) {
  const size_t star = kind.find('*');
  if (star == std::string_view::npos) {
    return name == kind ? std::optional<std::string_view>("") : std::nullopt;
  }
  const std::string_view tail = kind.substr(star + 1);
  if (name.size() < kind.size() || !name.starts_with(kind.substr(0, star)) || !name.ends_with(tail)) {
    return std::nullopt;
  }
  return name.substr(star, name.size() - star - tail.size());
}

// As a key of the statistics text: "event.kmem:kfree.ring_full" -> "event_ring_full", "map.entries" -> "entries".
std::string stat_key(std::string_view name, const CounterKind& kind) {
  if (name.starts_with("map.")) {
    return std::string(name.substr(4));
  }
  std::string key(kind.name.starts_with("event.*.") ? "event." + std::string(kind.name.substr(8)) : std::string(name));
  std::ranges::replace(key, '.', '_');
  return key;
}

}  // namespace

std::span<const CounterKind> counter_kinds() {
  return kKinds;
}

std::optional<NamedCounter> find_counter(std::string_view name) {
  for (const CounterKind& kind : kKinds) {
    if (const auto variable = variable_of(name, kind.name)) {
      return NamedCounter{&kind, *variable};
    }
  }
  return std::nullopt;
}

double Account::lost_share() const {
  return wanted == 0 ? 0.0 : static_cast<double>(lost) / static_cast<double>(wanted);
}

Account account_of(const Ledger& ledger) {
  Account account;
  uint64_t tasks = 0;
  uint64_t by_kind[std::size(kKinds)] = {};
  for (const auto& [name, value] : ledger.entries()) {
    const auto counter = find_counter(name);
    if (!counter) {
      continue;
    }
    add_saturating(by_kind[counter->kind - kKinds], value);
    account.known = account.known || name.starts_with("event.");
    switch (counter->kind->meaning) {
      case kHit:
        add_saturating(account.hits, value);
        break;
      case kFiltered:
        add_saturating(account.filtered, value);
        break;
      case kRecorded:
        add_saturating(account.recorded, value);
        break;
      case kTask:
        add_saturating(tasks, value);
        break;
      case kLost:
        add_saturating(account.lost, value);
        break;
      case kNote:
        break;
    }
  }
  for (size_t i = 0; i < std::size(kKinds); ++i) {
    if (kKinds[i].meaning == kLost && by_kind[i] != 0) {
      account.reasons.push_back({kKinds[i].reason, by_kind[i]});
    }
  }
  uint64_t unwanted = account.filtered;
  add_saturating(unwanted, tasks);
  account.wanted = account.hits > unwanted ? account.hits - unwanted : 0;
  if (!account.known) {
    account.wanted = account.recorded;
    add_saturating(account.wanted, account.lost);
  }
  account.wanted = std::max(account.wanted, account.lost);
  return account;
}

std::string stat_text(const Ledger& ledger) {
  if (!ledger.has("map.generation")) {
    return {};
  }
  std::vector<std::pair<std::string, uint64_t>> lines;
  const auto add = [&](std::string key, uint64_t value) {
    const auto known = std::ranges::find(lines, key, [](const auto& line) { return line.first; });
    if (known != lines.end()) {
      add_saturating(known->second, value);
    } else {
      lines.emplace_back(std::move(key), value);
    }
  };
  const auto add_all = [&](auto&& wanted) {
    for (const auto& [name, value] : ledger.entries()) {
      const auto counter = find_counter(name);
      if (counter && wanted(name)) {
        add(stat_key(name, *counter->kind), value);
      }
    }
  };
  const auto is_of = [](std::string_view prefix) {
    return [prefix](std::string_view name) { return name.starts_with(prefix); };
  };
  add_all(is_of("map."));
  add_all(is_of("cache."));
  const Account account = account_of(ledger);
  add("hits", account.hits);
  add("filtered", account.filtered);
  add("recorded", account.recorded);
  add("lost", account.lost);
  add_all([](std::string_view name) { return !name.starts_with("map.") && !name.starts_with("cache."); });
  std::string text;
  for (const auto& [key, value] : lines) {
    text += fmt::format("{}: {}\n", key, value);
  }
  return text;
}

}  // namespace stackmap
