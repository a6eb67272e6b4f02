// SPDX-License-Identifier: Apache-2.0
// Any bytes as the payload of a table. Byte 0 chooses the kind of block, bytes 1 and 2 are the count that its header
// gives; the rest is the payload. Stacks and symbols that decode are encoded again and decode to the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "capture/block.h"
#include "capture/tables.h"
#include "fuzz/allocation_bound.h"

using namespace stackmap;

namespace {

using Stacks = std::vector<std::pair<uint32_t, std::vector<uint64_t>>>;
using Symbols = std::vector<std::pair<uint64_t, KernelSymbol>>;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// The decoder alone: what is read is dropped, but for what the decoders themselves keep.
bool decode(BlockKind kind, Bytes payload, uint32_t count) {
  const stackmap_test::AllocationBound bound(kTableMemoryBase + kTableMemoryFactor * payload.size());
  uint32_t taken = 0;
  Result<void> done;
  switch (kind) {
    case BlockKind::kHeader: {
      CaptureInfo info;
      return decode_info(payload, count, info).ok();
    }
    case BlockKind::kEventTypes: {
      std::vector<EventType> types;
      done = decode_event_types(payload, count, types);
      require(types.size() <= kMaxEventTypes);
      return done.ok();
    }
    case BlockKind::kStrings:
      done = decode_strings(payload, count, [&](uint64_t, std::string_view) { ++taken; });
      break;
    case BlockKind::kTasks:
      // One of a change that is not known is skipped.
      return decode_tasks(payload, count, 1000, [&](TaskRecord) { ++taken; }).ok() && taken <= count;
    case BlockKind::kStacks:
      done = decode_stacks(payload, count, [&](uint32_t, std::span<const uint64_t>) { ++taken; });
      break;
    case BlockKind::kSymbols:
      done = decode_symbols(payload, count, [&](uint64_t, KernelSymbol) { ++taken; });
      break;
    case BlockKind::kLedger: {
      Ledger ledger;
      done = decode_ledger(payload, count, ledger);
      require(ledger.entries().size() <= kMaxLedgerEntries);
      return done.ok();
    }
    case BlockKind::kAnchors: {
      std::vector<ClockAnchor> anchors;
      return decode_anchors(payload, count, anchors).ok();
    }
    default:
      return decode_refs(payload, count, [&](uint32_t, uint64_t) { ++taken; }).ok() && taken <= count;
  }
  require(!done.ok() || taken == count);
  return done.ok();
}

Stacks stacks_of(Bytes payload, uint32_t count) {
  Stacks stacks;
  (void)decode_stacks(payload, count, [&](uint32_t slot, std::span<const uint64_t> frames) {
    stacks.emplace_back(slot, std::vector<uint64_t>(frames.begin(), frames.end()));
  });
  return stacks;
}

Symbols symbols_of(Bytes payload, uint32_t count) {
  Symbols symbols;
  (void)decode_symbols(
      payload, count, [&](uint64_t address, KernelSymbol symbol) { symbols.emplace_back(address, std::move(symbol)); });
  return symbols;
}

void round_trip(BlockKind kind, Bytes payload, uint32_t count) {
  std::string again;
  uint64_t before = 0;
  if (kind == BlockKind::kStacks) {
    const Stacks stacks = stacks_of(payload, count);
    for (const auto& [slot, frames] : stacks) {
      encode_stack(slot, frames, before, again);
    }
    require(stacks_of(bytes_of(again), count) == stacks);
  } else if (kind == BlockKind::kSymbols) {
    const Symbols symbols = symbols_of(payload, count);
    for (const auto& [address, symbol] : symbols) {
      encode_symbol(address, symbol, before, again);
    }
    require(symbols_of(bytes_of(again), count) == symbols);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteReader head({reinterpret_cast<const std::byte*>(data), size});
  const auto kind = static_cast<BlockKind>(1 + head.fixed<uint8_t>() % 10);
  const uint32_t count = head.fixed<uint16_t>();
  if (!head.ok()) {
    return 0;
  }
  const auto payload = head.take(head.remaining());
  if (decode(kind, payload, count)) {
    round_trip(kind, payload, count);
  }
  return 0;
}
