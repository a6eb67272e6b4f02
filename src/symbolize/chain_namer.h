// SPDX-License-Identifier: Apache-2.0
// Several sources of kernel names, in order of trust: the first that works is used.
//
// A source is opened when it is first needed, so one that is never needed costs nothing. One that fails as a whole,
// while it is opened or later, is given up for good; the names that a call returns are all of one source. An address
// that a source does not know is an answer, and no reason to ask the next. Nor is one that cannot be opened for want of
// a privilege: that is to be mended, and none of the rest is opened.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "process/kernel_symbol.h"

namespace stackmap {

class ChainNamer : public KernelNamer {
 public:
  using Open = std::function<Result<std::unique_ptr<KernelNamer>>()>;

  explicit ChainNamer(std::vector<Open> sources) : sources_(std::move(sources)) {}

  // Opens the first source that can be, so that source() and failures() are known before the first name is asked for.
  // Fails if none is left: with the last source's error, and those before it in its context.
  Result<void> open();
  Result<std::vector<KernelSymbol>> name(std::span<const uint64_t> addresses, AddressKind kind) override;
  // Of the source in use; "none" before one is open, and when none is left.
  std::string source() const override { return current_ ? current_->source() : "none"; }
  // Why the sources before the one in use were given up, in order.
  const std::vector<Error>& failures() const { return failures_; }

 private:
  Error nothing_left() const;

  std::vector<Open> sources_;
  size_t next_ = 0;  // the first source that was not opened yet
  std::unique_ptr<KernelNamer> current_;
  std::vector<Error> failures_;
};

}  // namespace stackmap
