// SPDX-License-Identifier: Apache-2.0
#include "render/losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/saturating.h"
#include "base/text.h"
#include "capture/losses.h"
#include "render/clean_text.h"

namespace stackmap {

namespace {

struct Column {
  std::string_view counter;  // "event.*." and this
  std::string_view head;
  bool always = true;  // also where all of it is nought
};
// Those behind the first add up to it.
constexpr Column kColumns[] = {{"hits", "hits"},          {"filtered", "filtered"},
                               {"sent", "sent"},          {"ring_full", "ring full"},
                               {"scratch_busy", "busy"},  {"recursion_misses", "missed"},
                               {"output_error", "other"}, {"throttled", "throttled", false}};
constexpr std::string_view kOfEvents = "event.*.";

using Counters = std::map<std::string, uint64_t, std::less<>>;  // by CounterKind::name behind kOfEvents

struct Sorted {
  std::vector<std::pair<std::string, Counters>> events;     // in the order of the ledger
  std::vector<std::pair<std::string, uint64_t>> explained;  // words, value
  std::vector<std::pair<std::string, uint64_t>> unknown;    // name, value
};

void take_event(Sorted& sorted, std::string_view event, std::string_view counter, uint64_t value) {
  auto row = std::ranges::find(sorted.events, event, [](const auto& e) { return e.first; });
  if (row == sorted.events.end()) {
    row = sorted.events.insert(sorted.events.end(), {std::string(event), {}});
  }
  add_saturating(row->second[std::string(counter)], value);
}

std::string words_of(const NamedCounter& counter) {
  std::string words(counter.kind->words);
  if (const size_t place = words.find("{}"); place != std::string::npos) {
    words.replace(place, 2, clean_text(counter.variable));
  }
  return words;
}

Sorted sort_counters(const Ledger& ledger) {
  Sorted sorted;
  for (const auto& [name, value] : ledger.entries()) {
    const auto counter = find_counter(name);
    if (!counter) {
      sorted.unknown.emplace_back(clean_text(name), value);
    } else if (counter->kind->name.starts_with(kOfEvents)) {
      take_event(sorted, counter->variable, counter->kind->name.substr(kOfEvents.size()), value);
    } else if (value != 0 && !counter->kind->words.empty()) {
      sorted.explained.emplace_back(words_of(*counter), value);
    }
  }
  return sorted;
}

using Row = std::vector<std::string>;

uint64_t get(const Counters& counters, std::string_view name) {
  const auto found = counters.find(name);
  return found == counters.end() ? 0 : found->second;
}

Row table_row(const std::string& name, const Counters& counters, const std::vector<Column>& columns) {
  Row row = {name};
  for (const Column& column : columns) {
    row.push_back(human_count(get(counters, column.counter)));
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

void write_event_table(const Sorted& sorted, TextWriter& out) {
  Counters sum;
  for (const auto& [name, counters] : sorted.events) {
    for (const auto& [counter, value] : counters) {
      add_saturating(sum[counter], value);
    }
  }
  std::vector<Column> columns;
  Row head = {"event"};
  for (const Column& column : kColumns) {
    if (column.always || get(sum, column.counter) != 0) {
      columns.push_back(column);
      head.emplace_back(column.head);
    }
  }
  std::vector<Row> rows = {head};
  for (const auto& [name, counters] : sorted.events) {
    rows.push_back(table_row(clean_text(name), counters, columns));
  }
  rows.push_back(table_row("sum", sum, columns));
  write_rows(rows, out);
}

}  // namespace

std::string one_line_summary(const Ledger& ledger) {
  const Account account = account_of(ledger);
  if (!account.known && ledger.has("import.lost_events")) {
    return fmt::format("the trace says that {} of its events were lost", human_count(ledger.get("import.lost_events")));
  }
  if (!account.known) {
    return "what was lost is not known";
  }
  std::string text = fmt::format("lost {} of {} event{}", human_count(account.lost), human_count(account.wanted),
                                 account.wanted == 1 ? "" : "s");
  std::string_view separator = ": ";
  for (const Account::Reason& reason : account.reasons) {
    text += fmt::format("{}{} {}", separator, human_count(reason.events), reason.words);
    separator = ", ";
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
  if (ledger.has("map.generation")) {
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
