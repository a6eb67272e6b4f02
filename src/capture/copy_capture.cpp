// SPDX-License-Identifier: Apache-2.0
#include "capture/copy_capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "capture/copy_ledger.h"
#include "capture/event_block.h"

namespace stackmap {

namespace {

// Table entries of about so many bytes are collected before they are written.
constexpr size_t kPendingBytes = size_t{4} << 20;
constexpr size_t kNumberBytes = 10;  // of a varint, at most

class Copier {
 public:
  Copier(const Capture& from, CaptureWriter& to, const CopyOptions& options)
      : from_(from), to_(to), options_(options), without_stack_(from) {}

  Result<CopyTotals> run() {
    read_tables();
    Result<void> taken;
    uint64_t seen = 0;
    STACKMAP_TRY(from_.for_each_event([&](const Event& event) {
      ++seen;
      taken = take(event);
      return taken.ok();
    }));
    STACKMAP_TRY(taken);
    if (options_.whole()) {
      STACKMAP_TRY(add_unused());
    }
    totals_.stacks = made_.refs.size();
    totals_.events_lost = from_.events_expected() - std::min(seen, from_.events_expected());
    STACKMAP_TRY(to_.flush(nullptr));
    STACKMAP_TRY(write_refs());
    totals_.stacks_missing += without_stack_.lost_since();
    STACKMAP_TRY(to_.close(copy_ledger(from_, options_, without_stack_, totals_)));
    return totals_;
  }

 private:
  void read_tables() {
    for (TaskRecord& record : from_.tasks().records()) {
      source_.threads[record.tid].push_back(std::move(record));
    }
    for (const auto& [id, text] : from_.strings()) {
      source_.strings.emplace(id, text);
    }
    for (const EventType& type : from_.event_types()) {
      source_.types.try_emplace(type.id, &type);
    }
  }

  Result<void> take(const Event& event) {
    if (event.time_ns < options_.from_ns || event.time_ns > options_.to_ns) {
      ++totals_.left_out;
      return {};
    }
    Event copy = event;
    need_thread(event.tid);
    need_fields(copy);
    STACKMAP_TRY(need_stack(copy.stack));
    STACKMAP_TRY(to_.add_event(copy));
    ++totals_.events;
    return settle();
  }

  // Writes the table entries that were collected, where they are many.
  Result<void> settle() {
    if (pending_ < kPendingBytes) {
      return {};
    }
    pending_ = 0;
    return to_.flush(nullptr);
  }

  void need_thread(uint32_t tid) {
    const auto found = source_.threads.find(tid);
    if (found != source_.threads.end()) {
      for (TaskRecord& record : found->second) {
        pending_ += 5 * kNumberBytes + record.comm.size();
        to_.add_task(std::move(record));
      }
      source_.threads.erase(found);
    }
  }

  void need_fields(Event& event) {
    const auto [found, is_new] = source_.types.try_emplace(event.type, nullptr);
    if (found->second == nullptr) {
      if (is_new) {
        to_.add_event_type({event.type, "unknown", fmt::format("event_{}", event.type), {}});
      }
      event.fields = {};
      return;
    }
    const std::vector<FieldType>& types = found->second->fields;
    for (size_t i = 0; i < event.fields.size(); ++i) {
      fields_[i] = event.fields[i];
      if (types[i].format == FieldFormat::kString) {
        fields_[i] = need_string(event.fields[i]);
      } else if (types[i].format == FieldFormat::kTid) {
        need_thread(static_cast<uint32_t>(event.fields[i]));
      }
    }
    event.fields = std::span(fields_).first(event.fields.size());
  }

  uint64_t need_string(uint64_t id) {
    const auto known = made_.string_ids.find(id);
    if (known != made_.string_ids.end()) {
      return known->second;
    }
    const auto text = source_.strings.find(id);
    if (text == source_.strings.end()) {
      ++totals_.strings_missing;
      return to_.string_id(from_.string(id));
    }
    pending_ += kNumberBytes + text->second.size();
    return made_.string_ids.emplace(id, to_.string_id(text->second)).first->second;
  }

  Result<void> need_stack(StackRef& stack) {
    if (stack.state == StackRef::State::kFallback) {
      need_symbols(stack.frames);
    } else if (stack.state == StackRef::State::kCookie) {
      const auto known = made_.refs.find(stack.cookie);
      if (known != made_.refs.end()) {
        ++known->second;
        return {};
      }
      const auto frames = from_.stack(stack.cookie);
      if (frames.empty() || stack.cookie.generation() == 0) {
        if (!without_stack_.keep(stack.cookie)) {
          ++totals_.stacks_missing;
          stack = {};
        }
        return {};
      }
      return add_stack(stack.cookie, frames, 1);
    }
    return {};
  }

  Result<void> add_stack(Cookie cookie, std::span<const uint64_t> frames, uint64_t ref) {
    if (generation_ != cookie.generation()) {
      // The writer keeps the stacks of one generation at a time.
      STACKMAP_TRY(to_.flush(nullptr));
      generation_ = cookie.generation();
    }
    made_.refs.emplace(cookie, ref);
    to_.add_stack(cookie, frames);
    pending_ += kNumberBytes * (frames.size() + 2);
    need_symbols(frames);
    return {};
  }

  void need_symbols(std::span<const uint64_t> frames) {
    for (const uint64_t frame : frames) {
      if (made_.named.insert(frame).second) {
        if (const KernelSymbol* symbol = from_.symbol(frame)) {
          pending_ += 5 * kNumberBytes + symbol->name.size() + symbol->module.size();
          to_.add_symbol(frame, *symbol);
        }
      }
    }
  }

  // What no event of a whole copy needed.
  Result<void> add_unused() {
    for (const CapturedStack& stack : from_.stacks()) {
      if (!made_.refs.contains(stack.cookie)) {
        STACKMAP_TRY(add_stack(stack.cookie, stack.frames, 0));
        STACKMAP_TRY(settle());
      }
    }
    for (const auto& [frame, symbol] : from_.symbols()) {
      need_symbols(std::span(&frame, 1));
      STACKMAP_TRY(settle());
    }
    for (const auto& [id, text] : from_.strings()) {
      (void)need_string(id);
      STACKMAP_TRY(settle());
    }
    while (!source_.threads.empty()) {
      need_thread(source_.threads.begin()->first);
      STACKMAP_TRY(settle());
    }
    return {};
  }

  Result<void> write_refs() {
    std::map<uint32_t, std::vector<std::pair<uint32_t, uint64_t>>> by_generation;
    for (const auto& [cookie, ref] : made_.refs) {
      by_generation[cookie.generation()].emplace_back(cookie.slot(), ref);
    }
    for (auto& [generation, refs] : by_generation) {
      std::ranges::sort(refs);
      STACKMAP_TRY(to_.write_refs(generation, refs));
    }
    return {};
  }

  // What the source has; of the threads, what the copy does not have yet.
  struct Source {
    std::map<uint32_t, std::vector<TaskRecord>> threads;     // by number
    std::unordered_map<uint64_t, std::string_view> strings;  // by id
    std::unordered_map<uint16_t, const EventType*> types;    // null: of the copy alone
  };
  // What the copy has.
  struct Made {
    std::unordered_map<uint64_t, uint64_t> string_ids;  // source -> copy
    std::unordered_map<Cookie, uint64_t> refs;          // of its stacks
    std::unordered_set<uint64_t> named;                 // frames whose symbol it has
  };

  const Capture& from_;
  CaptureWriter& to_;
  const CopyOptions& options_;
  CookiesWithoutStack without_stack_;
  CopyTotals totals_;
  Source source_;
  Made made_;
  std::array<uint64_t, kFieldColumnsPerType> fields_{};
  uint32_t generation_ = 0;  // of the stacks that were added last
  size_t pending_ = 0;
};

}  // namespace

CaptureInfo copy_info(const Capture& from, const CopyOptions& options) {
  CaptureInfo info = from.info();
  if (from.file_count() != 1 || !options.whole()) {
    info.session = 0;
    info.segment = 0;
  }
  return info;
}

CaptureWriter::Options copy_writer_options() {
  CaptureWriter::Options options;
  options.anchors = false;
  return options;
}

Result<CopyTotals> copy_capture(const Capture& from, CaptureWriter& to, const CopyOptions& options) {
  return Copier(from, to, options).run();
}

}  // namespace stackmap
