// SPDX-License-Identifier: Apache-2.0
// Several files as one capture.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "capture/capture_part.h"
#include "capture/segment_names.h"

namespace stackmap {

namespace {

using Parts = std::vector<std::unique_ptr<CapturePart>>;

Error not_one_recording(std::string why) {
  return make_error(ErrorKind::kUsage, "these files are not the segments of one recording: " + std::move(why),
                    "read one recording at a time");
}

// NAME of NAME-000001.smc; empty if it is not called so.
std::string_view segment_base(std::string_view name) {
  const auto segment = parse_segment_path(name);
  return segment ? segment->base : std::string_view();
}

// What each file calls the addresses that are not called the same everywhere.
using OwnNames = std::unordered_map<uint64_t, KernelSymbol>;

OwnNames own_names(CapturePart& part, const CaptureTables& tables) {
  OwnNames names;
  part.read_symbols([&](uint64_t address, KernelSymbol symbol) {
    if (tables.disagreed.contains(address)) {
      names.try_emplace(address, std::move(symbol));
    }
  });
  return names;
}

uint64_t add_stand_in(CaptureTables& tables, uint64_t address, KernelSymbol symbol) {
  if (!symbol.known()) {
    symbol = {fmt::format("0x{:x}", address), 0, KernelSymbol::kNameAlone, ""};
  }
  const uint64_t frame = kStandInBase + tables.stand_ins.size();
  tables.stand_ins.push_back({address, std::move(symbol)});
  return frame;
}

void join_address(Parts& parts, const std::vector<OwnNames>& names, uint64_t address, CaptureTables& tables) {
  const KernelSymbol& first = tables.symbols.at(address);
  // One frame a distinct name; the first name keeps the address. A file without a name has one of its own.
  std::vector<std::pair<KernelSymbol, uint64_t>> frames = {{first, address}};
  std::vector<size_t> unnamed;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto own = names[i].find(address);
    if (own == names[i].end()) {
      unnamed.push_back(i);
      continue;
    }
    auto known = std::ranges::find(frames, own->second, &std::pair<KernelSymbol, uint64_t>::first);
    if (known == frames.end()) {
      frames.emplace_back(own->second, add_stand_in(tables, address, own->second));
      known = std::prev(frames.end());
    }
    if (known->second != address) {
      parts[i]->stand_in(address, known->second);
    }
  }
  if (frames.size() > 1 && !unnamed.empty()) {
    const uint64_t frame = add_stand_in(tables, address, {});
    for (const size_t i : unnamed) {
      parts[i]->stand_in(address, frame);
    }
  }
}

}  // namespace

Result<void> order_parts(Parts& parts) {
  if (parts.empty()) {
    return make_error(ErrorKind::kUsage, "no capture is named");
  }
  for (const auto& part : parts) {
    if (parts.size() > 1 && (part->info().session == 0 || part->info().segment == 0)) {
      return not_one_recording(part->has_header() ? part->name() + " is a recording of its own"
                                                  : part->name() + " has lost its header, which says what it is of");
    }
    if (part->info().session != parts.front()->info().session) {
      return not_one_recording(fmt::format("{} is of another one than {}", part->name(), parts.front()->name()));
    }
  }
  std::ranges::stable_sort(parts, {}, [](const auto& part) { return part->info().segment; });
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i]->info().segment == parts[i - 1]->info().segment) {
      return not_one_recording(fmt::format("{} and {} are both its segment {}", parts[i - 1]->name(), parts[i]->name(),
                                           parts[i]->info().segment));
    }
  }
  return {};
}

void join_symbols(Parts& parts, CaptureTables& tables) {
  if (tables.disagreed.empty()) {
    return;
  }
  std::vector<OwnNames> names;
  names.reserve(parts.size());
  for (const auto& part : parts) {
    names.push_back(own_names(*part, tables));
  }
  std::vector<uint64_t> addresses(tables.disagreed.begin(), tables.disagreed.end());
  std::ranges::sort(addresses);
  for (const uint64_t address : addresses) {
    join_address(parts, names, address, tables);
  }
  for (const auto& part : parts) {
    part->use_stand_ins(tables);
  }
}

CaptureInfo join_infos(const Parts& parts) {
  CaptureInfo info = parts.front()->info();
  for (size_t i = 1; i < parts.size(); ++i) {
    const auto& anchors = parts[i]->info().anchors;
    info.anchors.insert(info.anchors.end(), anchors.begin(), anchors.end());
    info.segment = 0;
  }
  return info;
}

Ledger join_ledgers(const Parts& parts) {
  Ledger sums = parts.front()->ledger();
  for (size_t i = 1; i < parts.size(); ++i) {
    for (const auto& [name, value] : parts[i]->ledger().entries()) {
      if (name.starts_with("map.")) {
        sums.set(name, value);
      } else {
        sums.add(name, value);
      }
    }
  }
  return sums;
}

Damage join_damage(const Parts& parts) {
  Damage sum;
  sum.closed = true;
  for (const auto& part : parts) {
    const Damage& damage = part->damage();
    sum.bad_blocks += damage.bad_blocks;
    sum.bytes_skipped += damage.bytes_skipped;
    sum.torn_bytes += damage.torn_bytes;
    sum.unknown_blocks += damage.unknown_blocks;
    sum.missing_blocks += damage.missing_blocks;
    sum.events_lost += damage.events_lost;
    sum.closed = sum.closed && damage.closed;
    if (sum.first.empty() && !damage.first.empty()) {
      sum.first = parts.size() > 1 ? fmt::format("{}: {}", part->name(), damage.first) : damage.first;
      sum.first_offset = damage.first_offset;
    }
  }
  return sum;
}

std::string missing_segments(const Parts& parts) {
  std::string text;
  if (parts.size() < 2) {
    return text;
  }
  uint64_t next = 1;
  uint64_t missing = 0;
  for (const auto& part : parts) {
    const uint64_t segment = part->info().segment;
    if (segment > next) {
      const std::string range = segment - next == 1 ? std::to_string(next) : fmt::format("{} to {}", next, segment - 1);
      fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : ", ", range);
      missing += segment - next;
    }
    next = segment + 1;
  }
  if (missing == 0) {
    return text;
  }
  return fmt::format("segment{} {} {} not there", missing == 1 ? "" : "s", text, missing == 1 ? "is" : "are");
}

std::string joined_name(const Parts& parts) {
  const std::string& first = parts.front()->name();
  const std::string_view base = segment_base(first);
  const bool shared = parts.size() > 1 && !base.empty() &&
                      std::ranges::all_of(parts, [&](const auto& part) { return segment_base(part->name()) == base; });
  return shared ? std::string(base) : first;
}

}  // namespace stackmap
