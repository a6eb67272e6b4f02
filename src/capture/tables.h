// SPDX-License-Identifier: Apache-2.0
// The payloads of the table blocks (FORMAT.md sections 2 and 3), each way. Encoders append to a payload; decoders
// return kCorrupt when the bytes contradict the format, and then what they filled so far is good.
//
// Decoders do not trust their bytes: each allocates at most kTableMemoryBase and kTableMemoryFactor bytes for each byte
// of the payload, the lists that it fills included. A list of event types never has more than kMaxEventTypes, a ledger
// never more than kMaxLedgerEntries: more are kCorrupt.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "capture/capture.h"
#include "capture/event.h"
#include "capture/ledger.h"
#include "process/kernel_symbol.h"
#include "process/task_table.h"

namespace stackmap {

using Bytes = std::span<const std::byte>;

inline constexpr size_t kTableMemoryBase = size_t{16} << 20;
inline constexpr size_t kTableMemoryFactor = 64;
inline constexpr size_t kMaxEventTypes = 4096;
inline constexpr size_t kMaxLedgerEntries = 131072;

void encode_info(const CaptureInfo& info, std::string& out, uint32_t& count);
Result<void> decode_info(Bytes payload, uint32_t count, CaptureInfo& info);

void encode_event_type(const EventType& type, std::string& out);
// A type whose number is in `types` already is left out: the first one counts.
Result<void> decode_event_types(Bytes payload, uint32_t count, std::vector<EventType>& types);

void encode_string(uint64_t id, std::string_view text, std::string& out);
Result<void> decode_strings(Bytes payload, uint32_t count,
                            const std::function<void(uint64_t id, std::string_view text)>& take);

void encode_task(const TaskRecord& record, uint64_t base_ns, std::string& out);
Result<void> decode_tasks(Bytes payload, uint32_t count, uint64_t base_ns,
                          const std::function<void(TaskRecord record)>& take);

// Stacks of one block; `first_frame` is the encoder's memory between calls, 0 at the start of a block.
void encode_stack(uint32_t slot, std::span<const uint64_t> frames, uint64_t& first_frame, std::string& out);
Result<void> decode_stacks(Bytes payload, uint32_t count,
                           const std::function<void(uint32_t slot, std::span<const uint64_t> frames)>& take);

// Symbols of one block; `before` is the encoder's memory between calls, 0 at the start of a block.
void encode_symbol(uint64_t address, const KernelSymbol& symbol, uint64_t& before, std::string& out);
Result<void> decode_symbols(Bytes payload, uint32_t count,
                            const std::function<void(uint64_t address, KernelSymbol symbol)>& take);

void encode_ledger(const Ledger& ledger, std::string& out);
Result<void> decode_ledger(Bytes payload, uint32_t count, Ledger& ledger);

void encode_anchor(const ClockAnchor& anchor, std::string& out);
Result<void> decode_anchors(Bytes payload, uint32_t count, std::vector<ClockAnchor>& anchors);

void encode_ref(uint32_t slot, uint64_t ref, std::string& out);
Result<void> decode_refs(Bytes payload, uint32_t count, const std::function<void(uint32_t slot, uint64_t ref)>& take);

}  // namespace stackmap
