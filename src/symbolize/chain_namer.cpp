// SPDX-License-Identifier: Apache-2.0
#include "symbolize/chain_namer.h"

#include <utility>

namespace stackmap {

Error ChainNamer::nothing_left() const {
  if (failures_.empty()) {
    return make_error(ErrorKind::kUnsupported, "there is no source of kernel symbols");
  }
  Error error = failures_.back();
  if (failures_.size() == 1) {
    return error;
  }
  std::string before;
  for (size_t i = 0; i + 1 < failures_.size(); ++i) {
    before += failures_[i].message() + "; then ";
  }
  error.context = "cannot name kernel addresses: " + before + error.context;
  return error;
}

Result<void> ChainNamer::open() {
  while (!current_) {
    if (next_ == sources_.size()) {
      return nothing_left();
    }
    auto opened = sources_[next_++]();
    if (opened) {
      current_ = std::move(opened).value();
      continue;
    }
    failures_.push_back(std::move(opened).error());
    if (failures_.back().kind == ErrorKind::kPrivilege) {
      next_ = sources_.size();
    }
  }
  return {};
}

Result<std::vector<KernelSymbol>> ChainNamer::name(std::span<const uint64_t> addresses, AddressKind kind) {
  for (;;) {
    STACKMAP_TRY(open());
    auto named = current_->name(addresses, kind);
    if (named && named->size() == addresses.size()) {
      return named;
    }
    failures_.push_back(named ? make_error(ErrorKind::kFailed, current_->source() + " did not answer for every address")
                              : std::move(named).error());
    current_.reset();
  }
}

}  // namespace stackmap
