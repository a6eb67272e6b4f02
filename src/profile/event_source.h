// SPDX-License-Identifier: Apache-2.0
// Where the reports take events from: a capture, or events that a test makes up.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "capture/capture.h"
#include "profile/lent_names.h"

namespace stackmap {

class EventSource {
 public:
  virtual ~EventSource() = default;
  virtual const std::vector<EventType>& event_types() const = 0;
  virtual std::string_view string(uint64_t id) const = 0;
  // Innermost first; empty if the source does not hold that stack.
  virtual std::span<const uint64_t> stack(Cookie cookie) const = 0;
  // Null if there is no name.
  virtual const KernelSymbol* symbol(uint64_t address) const = 0;
  // "name+0xoff/0xsize [module]"; "0x..." where there is no name.
  virtual std::string symbol_text(uint64_t address) const = 0;
  virtual const TaskTable& tasks() const = 0;
  virtual uint32_t page_size() const = 0;  // bytes; 0 if not known
  // The callback returns false to stop.
  virtual Result<void> for_each_event(const std::function<bool(const Event&)>& callback) const = 0;
};

// A capture as a source, with names for what it does not name itself, or null. Both must outlive it.
class CaptureSource final : public EventSource {
 public:
  explicit CaptureSource(const Capture& capture, const LentNames* names = nullptr) : capture_(capture), names_(names) {}
  const std::vector<EventType>& event_types() const override { return capture_.event_types(); }
  std::string_view string(uint64_t id) const override { return capture_.string(id); }
  std::span<const uint64_t> stack(Cookie cookie) const override { return capture_.stack(cookie); }
  const KernelSymbol* symbol(uint64_t address) const override {
    const KernelSymbol* const own = capture_.symbol(address);
    const KernelSymbol* const lent =
        (own == nullptr || !own->known()) && names_ != nullptr ? names_->find(address) : nullptr;
    return lent != nullptr ? lent : own;
  }
  std::string symbol_text(uint64_t address) const override {
    const KernelSymbol* const named = symbol(address);
    return (named != nullptr ? *named : KernelSymbol{}).text(address);
  }
  const TaskTable& tasks() const override { return capture_.tasks(); }
  uint32_t page_size() const override { return capture_.info().host.page_size; }
  Result<void> for_each_event(const std::function<bool(const Event&)>& callback) const override {
    return capture_.for_each_event(callback);
  }

 private:
  const Capture& capture_;
  const LentNames* names_;
};

}  // namespace stackmap
