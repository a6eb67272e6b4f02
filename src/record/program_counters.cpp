// SPDX-License-Identifier: Apache-2.0
#include "record/program_counters.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <iterator>

#include "base/bytes.h"
#include "bpf/stackmap_record.h"

namespace stackmap {

namespace {

using enum ProgramCounterInfo::Role;
using P = ProgramCounters;
using C = stackmap_counters;

// What the programs count apart, for events in batches, is added up.
struct Row {
  ProgramCounterInfo info;
  __u64 C::*own;
  __u64 C::*in_batches = nullptr;
};
constexpr Row kRows[] = {
    {{"filtered", &P::filtered, kOutcome}, &C::filtered},
    {{"sent", &P::sent, kOutcome}, &C::sent, &C::batched},
    {{"batched", &P::batched, kAmong}, &C::batched},
    {{"ring_full", &P::ring_full, kOutcome}, &C::ring_full, &C::batch_full},
    {{"output_error", &P::output_error, kOutcome}, &C::output_error, &C::batch_error},
    {{"scratch_busy", &P::scratch_busy, kOutcome}, &C::scratch_busy},
    {{"throttled", &P::throttled, kOutcome}, &C::throttled},
};
constexpr auto kInfos = [] {
  std::array<ProgramCounterInfo, std::size(kRows)> infos{};
  std::ranges::transform(kRows, infos.begin(), &Row::info);
  return infos;
}();
static_assert(sizeof(ProgramCounters) == sizeof(uint64_t) * std::size(kRows), "every counter has a row");
static_assert(kCounterBytes == sizeof(stackmap_counters));

}  // namespace

std::span<const ProgramCounterInfo> program_counters() {
  return kInfos;
}

ProgramCounters& ProgramCounters::operator+=(const ProgramCounters& other) {
  for (const ProgramCounterInfo& info : kInfos) {
    this->*info.member += other.*info.member;
  }
  return *this;
}

uint64_t ProgramCounters::total() const {
  uint64_t sum = 0;
  for (const ProgramCounterInfo& info : kInfos) {
    sum += info.role == kOutcome ? this->*info.member : 0;
  }
  return sum;
}

ProgramCounters decode_counters(std::span<const std::byte> bytes) {
  assert(bytes.size() >= kCounterBytes);
  const auto sent = load_unaligned<stackmap_counters>(bytes);
  ProgramCounters counters;
  for (const Row& row : kRows) {
    counters.*row.info.member = sent.*row.own + (row.in_batches != nullptr ? sent.*row.in_batches : 0);
  }
  return counters;
}

}  // namespace stackmap
