// SPDX-License-Identifier: Apache-2.0
#include "verify.h"

#include <fmt/format.h>

#include <unordered_map>

#include "capture/block.h"

namespace stackmap {

namespace {

// Where an event stands, in a capture whose blocks are all whole; `number` counts from 0.
std::string place_of_event(const Capture& capture, uint64_t number) {
  for (const CaptureFile& file : capture.files()) {
    for (const BlockInfo& block : file.blocks) {
      if (static_cast<BlockKind>(block.kind) != BlockKind::kEvents) {
        continue;
      }
      if (number < block.count) {
        return fmt::format("{}: block {} (events) at byte {}: event {} of it", file.name, block.sequence, block.offset,
                           number + 1);
      }
      number -= block.count;
    }
  }
  return capture.name();
}

class Verifier {
 public:
  explicit Verifier(const Capture& capture) : capture_(capture), is_import_(capture.ledger().has("import.events")) {}

  Result<Verdict> run() {
    STACKMAP_TRY(capture_.for_each_event([&](const Event& event) {
      take(event);
      return true;
    }));
    if (capture_.damage().any()) {
      // The place is part of it; of one file, its name is not.
      verdict_.fault = (capture_.file_count() > 1 ? "" : capture_.name() + ": ") + capture_.damage().first;
      return std::move(verdict_);
    }
    if (!event_fault_.empty()) {
      fault(place_of_event(capture_, fault_number_) + event_fault_);
    }
    check_refs();
    check_counts();
    check_import();
    return std::move(verdict_);
  }

 private:
  void fault(std::string text) {
    if (verdict_.fault.empty()) {
      verdict_.fault = std::move(text);
    }
  }

  void event_fault(std::string text) {
    if (event_fault_.empty()) {
      event_fault_ = std::move(text);
      fault_number_ = number_;
    }
  }

  void take(const Event& event) {
    ++verdict_.by_type[event.type];
    if (event.stack.state == StackRef::State::kCookie) {
      ++refs_[event.stack.cookie];
      if (capture_.stack(event.stack.cookie).empty()) {
        ++verdict_.without_stack;
        if (!is_import_) {
          event_fault(fmt::format(": <stack_id {} gen {}> has no stack in the capture", event.stack.cookie.slot(),
                                  event.stack.cookie.generation()));
        }
      }
    }
    if (capture_.event_type(event.type) == nullptr) {
      event_fault(fmt::format(": its type {} is not in the capture", event.type));
    }
    ++number_;
  }

  void check_refs() {
    for (const CapturedStack& stack : capture_.stacks()) {
      const auto found = refs_.find(stack.cookie);
      const uint64_t counted = found != refs_.end() ? found->second : 0;
      if (capture_.damage().closed && stack.ref < INT32_MAX && stack.ref != counted) {
        fault(fmt::format("{}: <stack_id {} gen {}> has ref {}, and {} events", capture_.name(), stack.cookie.slot(),
                          stack.cookie.generation(), stack.ref, counted));
        return;
      }
    }
  }

  void check_counts() {
    if (number_ != capture_.event_count()) {
      fault(fmt::format("{}: {} events were read, the block headers say {}", capture_.name(), number_,
                        capture_.event_count()));
    }
    if (capture_.events_expected() != capture_.event_count()) {
      fault(fmt::format("{}: the end counts {} events, the block headers say {}", capture_.name(),
                        capture_.events_expected(), capture_.event_count()));
    }
  }

  void check_import() {
    if (!is_import_) {
      return;
    }
    const Ledger& ledger = capture_.ledger();
    const uint64_t told = ledger.get("import.stale_cookies") + ledger.get("import.unknown_cookies") +
                          ledger.get("recover.stacks_missing");
    if (verdict_.without_stack != told) {
      fault(fmt::format("{}: {} events have a cookie without a stack, and the ledger accounts for {}", capture_.name(),
                        verdict_.without_stack, told));
    }
  }

  const Capture& capture_;
  const bool is_import_;
  Verdict verdict_;
  std::string event_fault_;
  uint64_t fault_number_ = 0;
  uint64_t number_ = 0;
  std::unordered_map<Cookie, uint64_t> refs_;
};

}  // namespace

Result<Verdict> verify(const Capture& capture) {
  return Verifier(capture).run();
}

}  // namespace stackmap
