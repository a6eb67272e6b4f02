// SPDX-License-Identifier: Apache-2.0
#include "capture/copy_ledger.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace stackmap {

namespace {

constexpr std::string_view kStale = "import.stale_cookies";
constexpr std::string_view kUnknown = "import.unknown_cookies";

}  // namespace

CookiesWithoutStack::CookiesWithoutStack(const Capture& from)
    : import_(from.ledger()), is_import_(import_.has("import.events")) {
  for (const CapturedStack& stack : from.stacks()) {
    generations_.insert(stack.cookie.generation());
  }
}

bool CookiesWithoutStack::keep(Cookie cookie) {
  // Generations begin at 1: a cookie of 0 is of no map, and no block of events can tell it from none.
  if (!is_import_ || cookie.generation() == 0) {
    return false;
  }
  ++(generations_.contains(cookie.generation()) ? unknown_ : stale_);
  return true;
}

uint64_t CookiesWithoutStack::stale_counted() const {
  return std::min(stale_, import_.get(kStale));
}
uint64_t CookiesWithoutStack::unknown_counted() const {
  return std::min(unknown_, import_.get(kUnknown));
}

void CookiesWithoutStack::set_counters(Ledger& ledger) const {
  if (is_import_) {
    ledger.set(std::string(kStale), stale_counted());
    ledger.set(std::string(kUnknown), unknown_counted());
  }
}

Ledger copy_ledger(const Capture& from, const CopyOptions& options, const CookiesWithoutStack& without_stack,
                   const CopyTotals& totals) {
  Ledger ledger = from.ledger();
  const auto lost = [&](std::string_view name, uint64_t value) {
    if (value != 0) {
      ledger.add(name, value);
    }
  };
  without_stack.set_counters(ledger);
  lost("recover.stacks_missing", totals.stacks_missing);
  lost("recover.strings_missing", totals.strings_missing);
  lost("copy.left_out", totals.left_out);
  if (!options.count_damage) {
    return ledger;
  }
  const Damage& damage = from.damage();
  lost("recover.events_lost", totals.events_lost);
  lost("recover.bad_blocks", damage.bad_blocks);
  lost("recover.missing_blocks", damage.missing_blocks);
  lost("recover.skipped_bytes", damage.bytes_skipped);
  lost("recover.torn_bytes", damage.torn_bytes);
  const std::vector<CaptureFile> files = from.files();
  const auto is_open = [](const CaptureFile& file) { return !file.damage.closed; };
  lost("recover.unfinished_files", static_cast<uint64_t>(std::ranges::count_if(files, is_open)));
  if (files.size() > 1) {
    lost("recover.missing_segments", files.back().segment - std::min<uint64_t>(files.back().segment, files.size()));
  }
  return ledger;
}

}  // namespace stackmap
