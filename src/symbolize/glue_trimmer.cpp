// SPDX-License-Identifier: Apache-2.0
#include "symbolize/glue_trimmer.h"

#include <algorithm>
#include <vector>

#include "symbolize/glue_frames.h"

namespace stackmap {

namespace {

// Deeper than any tracing machinery seen; glue is looked for no further.
constexpr size_t kLookAt = 12;
// Leading addresses are few. Those of BPF programs are new at every load, and a namer may fail: neither makes this
// grow.
constexpr size_t kMaxSymbols = 4096;

}  // namespace

const KernelSymbol& GlueTrimmer::symbol(uint64_t address) {
  if (symbols_.size() > kMaxSymbols) {
    symbols_.clear();
  }
  const auto [it, is_new] = symbols_.try_emplace(address);
  if (is_new) {
    if (auto named = namer_->name(std::span(&address, 1), AddressKind::kReturn)) {
      it->second = std::move(named->front());
    }
  }
  return it->second;
}

std::span<const uint64_t> GlueTrimmer::trim_slowly(std::span<const uint64_t> frames) {
  if (namer_ == nullptr) {
    return frames;
  }
  const KernelSymbol& leaf = symbol(frames.front());
  if (leaf.known() && !is_glue_symbol(leaf)) {
    plain_[index(frames.front())] = frames.front();
    return frames;
  }
  std::vector<KernelSymbol> symbols;
  for (size_t i = 0; i < std::min(frames.size(), kLookAt); ++i) {
    symbols.push_back(symbol(frames[i]));
  }
  const size_t glue = glue_frames(symbols);
  return glue < frames.size() ? frames.subspan(glue) : frames;
}

}  // namespace stackmap
