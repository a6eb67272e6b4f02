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

#include "capture/event_block.h"

namespace stackmap {

namespace {

// Table entries of about so many bytes are collected before they are written.
constexpr size_t kPendingBytes = size_t{4} << 20;
constexpr size_t kNumberBytes = 10;  // of a varint, at most

class Copier {
 public:
  Copier(const Capture& from, CaptureWriter& to, const CopyOptions& options)
      : from_(from), to_(to), options_(options), is_import_(from.ledger().has("import.events")) {}

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
    totals_.stacks = refs_.size();
    totals_.events_lost = from_.events_expected() - std::min(seen, from_.events_expected());
    STACKMAP_TRY(to_.flush(nullptr));
    STACKMAP_TRY(write_refs());
    STACKMAP_TRY(to_.close(ledger()));
    return totals_;
  }

 private:
  void read_tables() {
    for (TaskRecord& record : from_.tasks().records()) {
      threads_[record.tid].push_back(std::move(record));
    }
    for (const auto& [id, text] : from_.strings()) {
      strings_.emplace(id, text);
    }
    for (const CapturedStack& stack : from_.stacks()) {
      generations_.insert(stack.cookie.generation());
    }
    for (const EventType& type : from_.event_types()) {
      types_.try_emplace(type.id, &type);
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
    const auto found = threads_.find(tid);
    if (found != threads_.end()) {
      for (TaskRecord& record : found->second) {
        pending_ += 5 * kNumberBytes + record.comm.size();
        to_.add_task(std::move(record));
      }
      threads_.erase(found);
    }
  }

  void need_fields(Event& event) {
    const auto [found, is_new] = types_.try_emplace(event.type, nullptr);
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
    const auto known = string_ids_.find(id);
    if (known != string_ids_.end()) {
      return known->second;
    }
    const auto text = strings_.find(id);
    if (text == strings_.end()) {
      ++totals_.strings_missing;
      return to_.string_id(from_.string(id));
    }
    pending_ += kNumberBytes + text->second.size();
    return string_ids_.emplace(id, to_.string_id(text->second)).first->second;
  }

  Result<void> need_stack(StackRef& stack) {
    if (stack.state == StackRef::State::kFallback) {
      need_symbols(stack.frames);
    } else if (stack.state == StackRef::State::kCookie) {
      const auto known = refs_.find(stack.cookie);
      if (known != refs_.end()) {
        ++known->second;
        return {};
      }
      const auto frames = from_.stack(stack.cookie);
      if (frames.empty() || stack.cookie.generation() == 0) {
        missing_stack(stack);
        return {};
      }
      return add_stack(stack.cookie, frames, 1);
    }
    return {};
  }

  void missing_stack(StackRef& stack) {
    // Generations begin at 1: a cookie of 0 is of no map, and no block of events can tell it from none.
    if (is_import_ && stack.cookie.generation() != 0) {
      ++(generations_.contains(stack.cookie.generation()) ? unknown_ : stale_);
      return;
    }
    ++totals_.stacks_missing;
    stack = {};
  }

  Result<void> add_stack(Cookie cookie, std::span<const uint64_t> frames, uint64_t ref) {
    if (generation_ != cookie.generation()) {
      // The writer keeps the stacks of one generation at a time.
      STACKMAP_TRY(to_.flush(nullptr));
      generation_ = cookie.generation();
    }
    refs_.emplace(cookie, ref);
    to_.add_stack(cookie, frames);
    pending_ += kNumberBytes * (frames.size() + 2);
    need_symbols(frames);
    return {};
  }

  void need_symbols(std::span<const uint64_t> frames) {
    for (const uint64_t frame : frames) {
      if (named_.insert(frame).second) {
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
      if (!refs_.contains(stack.cookie)) {
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
    while (!threads_.empty()) {
      need_thread(threads_.begin()->first);
      STACKMAP_TRY(settle());
    }
    return {};
  }

  Result<void> write_refs() {
    std::map<uint32_t, std::vector<std::pair<uint32_t, uint64_t>>> by_generation;
    for (const auto& [cookie, ref] : refs_) {
      by_generation[cookie.generation()].emplace_back(cookie.slot(), ref);
    }
    for (auto& [generation, refs] : by_generation) {
      std::ranges::sort(refs);
      STACKMAP_TRY(to_.write_refs(generation, refs));
    }
    return {};
  }

  // The source's, with what was lost on the way.
  Ledger ledger() {
    Ledger ledger = from_.ledger();
    const auto lost = [&](std::string_view name, uint64_t value) {
      if (value != 0) {
        ledger.add(name, value);
      }
    };
    if (is_import_) {
      account_for_import(ledger);
    }
    lost("recover.stacks_missing", totals_.stacks_missing);
    lost("recover.strings_missing", totals_.strings_missing);
    lost("copy.left_out", totals_.left_out);
    if (!options_.count_damage) {
      return ledger;
    }
    const Damage& damage = from_.damage();
    lost("recover.events_lost", totals_.events_lost);
    lost("recover.bad_blocks", damage.bad_blocks);
    lost("recover.missing_blocks", damage.missing_blocks);
    lost("recover.skipped_bytes", damage.bytes_skipped);
    lost("recover.torn_bytes", damage.torn_bytes);
    const std::vector<CaptureFile> files = from_.files();
    const auto is_open = [](const CaptureFile& file) { return !file.damage.closed; };
    lost("recover.unfinished_files", static_cast<uint64_t>(std::ranges::count_if(files, is_open)));
    if (files.size() > 1) {
      lost("recover.missing_segments", files.back().segment - std::min<uint64_t>(files.back().segment, files.size()));
    }
    return ledger;
  }

  // The import's counters say how many cookies of the copy have no stack; what is above them was lost since.
  void account_for_import(Ledger& ledger) {
    const uint64_t stale = std::min(stale_, ledger.get("import.stale_cookies"));
    const uint64_t unknown = std::min(unknown_, ledger.get("import.unknown_cookies"));
    ledger.set("import.stale_cookies", stale);
    ledger.set("import.unknown_cookies", unknown);
    totals_.stacks_missing += stale_ + unknown_ - stale - unknown;
  }

  const Capture& from_;
  CaptureWriter& to_;
  const CopyOptions& options_;
  const bool is_import_;
  CopyTotals totals_;
  // What the copy does not have yet.
  std::map<uint32_t, std::vector<TaskRecord>> threads_;     // by number
  std::unordered_map<uint64_t, std::string_view> strings_;  // of the source, by its ids
  std::unordered_map<uint64_t, uint64_t> string_ids_;       // source -> copy
  std::unordered_map<uint16_t, const EventType*> types_;    // null: of the copy alone
  std::unordered_set<uint32_t> generations_;                // that the source has stacks of
  std::unordered_map<Cookie, uint64_t> refs_;               // of the stacks that the copy has
  std::unordered_set<uint64_t> named_;                      // frames whose symbol the copy has
  std::array<uint64_t, kFieldColumnsPerType> fields_{};
  uint32_t generation_ = 0;  // of the stacks that were added last
  size_t pending_ = 0;
  uint64_t stale_ = 0;  // events of an import without a stack: of a generation without one
  uint64_t unknown_ = 0;
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
