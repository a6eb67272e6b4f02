// SPDX-License-Identifier: Apache-2.0
#include "render/losses.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "render/clean_text.h"

namespace stackmap {

namespace {

// The counters of one event, "event.<name>.<counter>".
struct EventCounters {
  uint64_t hits = 0;
  uint64_t filtered = 0;
  uint64_t sent = 0;
  uint64_t ring_full = 0;
  uint64_t output_error = 0;
  uint64_t scratch_busy = 0;
  uint64_t recursion_misses = 0;
  uint64_t recorded = 0;
  uint64_t task_records = 0;
  uint64_t rejected = 0;
  uint64_t batched = 0;
  uint64_t throttled = 0;
};

struct CounterName {
  std::string_view name;
  uint64_t EventCounters::*field;
};
constexpr CounterName kEventCounters[] = {
    {"hits", &EventCounters::hits},
    {"filtered", &EventCounters::filtered},
    {"sent", &EventCounters::sent},
    {"ring_full", &EventCounters::ring_full},
    {"output_error", &EventCounters::output_error},
    {"scratch_busy", &EventCounters::scratch_busy},
    {"recursion_misses", &EventCounters::recursion_misses},
    {"recorded", &EventCounters::recorded},
    {"task_records", &EventCounters::task_records},
    {"rejected", &EventCounters::rejected},
    {"batched", &EventCounters::batched},
    {"throttled", &EventCounters::throttled},
};

struct OtherLine {
  std::string_view prefix;  // of the counter's name
  std::string_view words;   // "{}" stands for the rest of the name
};
// What a counter means, for one that is not zero.
constexpr OtherLine kOther[] = {
    {"stack.truncated", "stacks deeper than the kernel walks: their outermost frames are missing"},
    {"stack.error.", "events whose stack the kernel could not walk ({}); they are kept without one"},
    {"fallback.full", "stacks recorded in full because the map was full"},
    {"fallback.probes", "stacks recorded in full because the map found no free slot near theirs"},
    {"fallback.arena", "stacks recorded in full because the map's memory ran out"},
    {"fallback.being_published", "stacks recorded in full because another thread was storing one in their slot"},
    {"fallback.too_deep", "stacks recorded in full because they are deeper than the map takes"},
    {"fallback.off", "stacks recorded in full because the map was off"},
    {"fallback.empty", "stacks without a frame"},
    {"ring.lost.cpu",
     "records that the ring of CPU {} says it dropped, a batch of events being one (among those above)"},
    {"string.truncated", "strings as long as a sample can carry, which may have been longer"},
    {"limit.cpu", "times that the recorder reached its ceiling of CPU time, and counted events alone"},
    {"limit.memory", "times that the recorder reached its ceiling of memory, and began a new generation"},
    {"write.failures", "writes to the capture that failed"},
    {"import.stale_cookies", "events whose cookie is of a generation that no imported stack_map is of"},
    {"import.unknown_cookies", "events whose cookie is not in its generation's stack_map, which was saved too early"},
    {"import.lost_events", "events that the trace says were lost"},
    {"import.lost_uncounted", "places where the trace says that events were lost, and not how many"},
    {"import.overwritten", "entries of the trace's ring that were overwritten before they were read"},
    {"import.user_stacks", "user stacks of the trace, which are left out"},
    {"import.skipped_lines", "lines of the trace that were not understood"},
    {"recover.events_lost", "events that were in damaged or missing blocks when the capture was recovered"},
    {"recover.stacks_missing", "events whose stack was lost when the capture was recovered; they are kept without one"},
    {"recover.strings_missing", "strings that were lost when the capture was recovered; they read '?'"},
    {"recover.bad_blocks", "damaged blocks that recovering left out"},
    {"recover.missing_blocks", "blocks that were missing when the capture was recovered"},
    {"recover.skipped_bytes", "bytes between blocks that recovering left out"},
    {"recover.torn_bytes", "bytes of unfinished blocks that recovering left out"},
    {"recover.unfinished_files", "files that had no end when they were recovered: what came after is not known"},
    {"recover.missing_segments", "segments that were not there when the capture was recovered"},
    {"copy.left_out", "events of other times, which this copy leaves out"},
    {"reject.", "samples that could not be decoded: {} (among those above)"},
};
// Of the stack map itself: `stat` shows them.
constexpr std::string_view kMapCounters = "map.";
// Neither a loss nor of the map.
constexpr std::string_view kPlainCounters[] = {"import.events",  "ring.bytes", "cache.published",
                                               "cache.replaced", "cache.hits", "cache.refused"};

struct Sorted {
  std::vector<std::pair<std::string, EventCounters>> events;  // in the order of the ledger
  std::vector<std::pair<std::string, uint64_t>> explained;    // words, value
  std::vector<std::pair<std::string, uint64_t>> unknown;      // name, value
  bool map = false;
};

// Whether `name` is a counter of an event; adds it to that event's row.
bool take_event(Sorted& sorted, std::string_view name, uint64_t value) {
  constexpr std::string_view kPrefix = "event.";
  const size_t dot = name.rfind('.');
  if (!name.starts_with(kPrefix) || dot <= kPrefix.size()) {
    return false;
  }
  const auto* const counter =
      std::ranges::find(kEventCounters, name.substr(dot + 1), [](const CounterName& c) { return c.name; });
  if (counter == std::end(kEventCounters)) {
    return false;
  }
  const std::string event(name.substr(kPrefix.size(), dot - kPrefix.size()));
  auto row = std::ranges::find(sorted.events, event, [](const auto& e) { return e.first; });
  if (row == sorted.events.end()) {
    row = sorted.events.insert(sorted.events.end(), {event, {}});
  }
  row->second.*counter->field += value;
  return true;
}

bool take_other(Sorted& sorted, std::string_view name, uint64_t value) {
  for (const OtherLine& line : kOther) {
    const bool family = line.prefix.ends_with('.') || line.prefix.ends_with("lost.cpu");
    const bool fits = family ? name.starts_with(line.prefix) && name.size() > line.prefix.size() : name == line.prefix;
    if (!fits) {
      continue;
    }
    if (value != 0) {
      const std::string rest = clean_text(name.substr(line.prefix.size()));
      const size_t place = line.words.find("{}");
      std::string words(line.words);
      if (place != std::string_view::npos) {
        words.replace(place, 2, rest);
      }
      sorted.explained.emplace_back(std::move(words), value);
    }
    return true;
  }
  return false;
}

Sorted sort_counters(const Ledger& ledger) {
  Sorted sorted;
  for (const auto& [name, value] : ledger.entries()) {
    if (take_event(sorted, name, value) || take_other(sorted, name, value)) {
      continue;
    }
    if (name.starts_with(kMapCounters)) {
      sorted.map = true;
      continue;
    }
    if (std::ranges::find(kPlainCounters, name) != std::end(kPlainCounters)) {
      continue;
    }
    sorted.unknown.emplace_back(clean_text(name), value);
  }
  return sorted;
}

using Row = std::vector<std::string>;

// Columns that are there when they are not zero.
struct Extra {
  bool throttled = false;
  bool rejected = false;
};

// The columns after "hits" add up to it; what was rejected is part of what was sent.
Row table_row(const std::string& name, const EventCounters& c, const Extra& extra) {
  Row row = {name};
  for (const uint64_t value :
       {c.hits, c.filtered, c.sent, c.ring_full, c.scratch_busy, c.recursion_misses, c.output_error}) {
    row.push_back(human_count(value));
  }
  if (extra.throttled) {
    row.push_back(human_count(c.throttled));
  }
  if (extra.rejected) {
    row.push_back(human_count(c.rejected));
  }
  return row;
}

void write_rows(const std::vector<Row>& rows, TextWriter& out) {
  std::vector<size_t> widths(rows[0].size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], text_columns(row[i]));
    }
  }
  for (const Row& row : rows) {
    std::string line = row[0] + std::string(widths[0] - text_columns(row[0]), ' ');
    for (size_t i = 1; i < row.size(); ++i) {
      line += fmt::format("  {:>{}}", row[i], widths[i]);
    }
    out.write(line + "\n");
  }
}

EventCounters sum_of(const Sorted& sorted) {
  EventCounters sum;
  for (const auto& [name, counters] : sorted.events) {
    for (const CounterName& counter : kEventCounters) {
      sum.*counter.field += counters.*counter.field;
    }
  }
  return sum;
}

void write_event_table(const Sorted& sorted, TextWriter& out) {
  const EventCounters sum = sum_of(sorted);
  const Extra extra = {sum.throttled != 0, sum.rejected != 0};
  std::vector<Row> rows = {{"event", "hits", "filtered", "sent", "ring full", "busy", "missed", "other"}};
  if (extra.throttled) {
    rows[0].emplace_back("throttled");
  }
  if (extra.rejected) {
    rows[0].emplace_back("rejected");
  }
  for (const auto& [name, counters] : sorted.events) {
    rows.push_back(table_row(clean_text(name), counters, extra));
  }
  rows.push_back(table_row("sum", sum, extra));
  write_rows(rows, out);
}

}  // namespace

uint64_t LossTotals::lost() const {
  return ring_full + output_error + scratch_busy + recursion_misses + throttled + rejected;
}

double LossTotals::ratio() const {
  return wanted == 0 ? 0.0 : static_cast<double>(lost()) / static_cast<double>(wanted);
}

LossTotals loss_totals(const Ledger& ledger) {
  const Sorted sorted = sort_counters(ledger);
  const EventCounters sum = sum_of(sorted);
  LossTotals totals;
  totals.known = !sorted.events.empty();
  totals.ring_full = sum.ring_full;
  totals.output_error = sum.output_error;
  totals.scratch_busy = sum.scratch_busy;
  totals.recursion_misses = sum.recursion_misses;
  totals.throttled = sum.throttled;
  totals.rejected = sum.rejected;
  // Counters are read one after another while events go on, so the sums may be off by a few; what was lost was wanted
  // in any case.
  const uint64_t unwanted = sum.filtered + sum.task_records;
  totals.wanted = std::max(sum.hits > unwanted ? sum.hits - unwanted : 0, totals.lost());
  return totals;
}

std::string one_line_summary(const Ledger& ledger) {
  const LossTotals totals = loss_totals(ledger);
  if (!totals.known && ledger.has("import.lost_events")) {
    return fmt::format("the trace says that {} of its events were lost", human_count(ledger.get("import.lost_events")));
  }
  if (!totals.known) {
    return "what was lost is not known";
  }
  std::string text = fmt::format("lost {} of {} event{}", human_count(totals.lost()), human_count(totals.wanted),
                                 totals.wanted == 1 ? "" : "s");
  const std::pair<uint64_t, std::string_view> reasons[] = {{totals.ring_full, "ring full"},
                                                           {totals.scratch_busy, "scratch busy"},
                                                           {totals.recursion_misses, "missed (recursion)"},
                                                           {totals.output_error, "output error"},
                                                           {totals.throttled, "throttled (--max-cpu)"},
                                                           {totals.rejected, "not decoded"}};
  std::string_view separator = ": ";
  for (const auto& [count, words] : reasons) {
    if (count != 0) {
      text += fmt::format("{}{} {}", separator, human_count(count), words);
      separator = ", ";
    }
  }
  return text;
}

void write_losses(const Ledger& ledger, TextWriter& out) {
  const Sorted sorted = sort_counters(ledger);
  out.write(one_line_summary(ledger) + "\n");
  if (!sorted.events.empty()) {
    out.write("\n");
    write_event_table(sorted, out);
  }
  if (sorted.map) {
    out.write(fmt::format("\nstack map: generation {}, {} of {} stacks, {} cookies given, {} fallbacks\n",
                          ledger.get("map.generation"), human_count(ledger.get("map.entries")),
                          human_count(ledger.get("map.capacity")), human_count(ledger.get("map.successes")),
                          human_count(ledger.get("map.fallbacks"))));
  }
  if (ledger.has("ring.bytes")) {
    out.write(fmt::format("rings: {} read\n", human_size(ledger.get("ring.bytes"))));
  }
  if (ledger.has("cache.hits")) {
    out.write(
        fmt::format("cookie cache: {} events sent by cookie, {} templates published, {} of them in another's place\n",
                    human_count(ledger.get("cache.hits")), human_count(ledger.get("cache.published")),
                    human_count(ledger.get("cache.replaced"))));
  }
  if (!sorted.explained.empty()) {
    out.write("\n");
    for (const auto& [words, value] : sorted.explained) {
      out.write(fmt::format("{:>12}  {}\n", human_count(value), words));
    }
  }
  if (!sorted.unknown.empty()) {
    out.write("\nother counters:\n");
    for (const auto& [name, value] : sorted.unknown) {
      out.write(fmt::format("{:>12}  {}\n", human_count(value), name));
    }
  }
}

}  // namespace stackmap
