// SPDX-License-Identifier: Apache-2.0
// The capture of an import: names, threads and stacks first, then the events, then the counts.
#include "capture/capture_writer.h"
#include "import/ftrace_import.h"

namespace stackmap {

namespace {

// Table entries between two flushes: keeps a block far below its limit.
constexpr size_t kFlushEntries = 65536;
constexpr size_t kMaxStringBytes = size_t{8} << 20;  // of text between two flushes

}  // namespace

Ledger FtraceImport::ledger() const {
  Ledger ledger;
  ledger.set("import.events", counts_.events);
  ledger.set("import.stale_cookies", counts_.stale_cookies);
  ledger.set("import.unknown_cookies", counts_.unknown_cookies);
  ledger.set("import.lost_events", counts_.lost_events);
  ledger.set("import.lost_uncounted", counts_.lost_uncounted);
  ledger.set("import.overwritten", counts_.overwritten);
  ledger.set("import.user_stacks", counts_.user_stacks);
  ledger.set("import.skipped_lines", counts_.skipped_lines);
  return ledger;
}

Result<void> FtraceImport::write_tables(CaptureWriter& writer) const {
  for (const TaskRecord& task : tasks_) {
    writer.add_task(task);
  }
  size_t pending = 0;
  const auto flush_at = [&](size_t entries) -> Result<void> {
    pending += entries;
    if (pending < kFlushEntries) {
      return {};
    }
    pending = 0;
    return writer.flush(nullptr);
  };
  for (const auto& [address, symbol] : names_.symbols()) {
    writer.add_symbol(address, symbol);
    // A name can be as long as a line.
    STACKMAP_TRY(flush_at(1 + symbol.name.size() / 64));
  }
  uint32_t generation = 0;
  for (const auto& [cookie, stack] : stacks_) {
    if (cookie.generation() != generation) {
      generation = cookie.generation();
      STACKMAP_TRY(writer.flush(nullptr));
    }
    writer.add_stack(cookie, stack.frames);
    STACKMAP_TRY(flush_at(1 + stack.frames.size()));
  }
  return writer.flush(nullptr);
}

Result<void> FtraceImport::write_events(CaptureWriter& writer) const {
  size_t text_bytes = 0;
  for (const Imported& imported : events_) {
    Event event;
    event.time_ns = imported.time_ns;
    event.cpu = imported.cpu;
    event.tid = imported.tid;
    event.type = imported.type;
    event.stack.state = imported.state;
    event.stack.cookie = imported.cookie;
    event.stack.frames = std::span(frames_).subspan(imported.first_frame, imported.depth);
    const uint64_t text = writer.string_id(imported.text);
    event.fields = std::span(&text, 1);
    STACKMAP_TRY(writer.add_event(event));
    text_bytes += imported.text.size();
    if (text_bytes > kMaxStringBytes) {
      text_bytes = 0;
      STACKMAP_TRY(writer.flush(nullptr));
    }
  }
  return writer.flush(nullptr);
}

Result<void> FtraceImport::write_refs(CaptureWriter& writer) const {
  std::map<Cookie, uint64_t> refs;
  for (const auto& [cookie, stack] : stacks_) {
    refs[cookie] = 0;
  }
  for (const Imported& event : events_) {
    const auto found = event.state == StackRef::State::kCookie ? refs.find(event.cookie) : refs.end();
    if (found != refs.end()) {
      ++found->second;
    }
  }
  for (auto first = refs.begin(); first != refs.end();) {
    const uint32_t generation = first->first.generation();
    std::vector<std::pair<uint32_t, uint64_t>> of_one;
    for (; first != refs.end() && first->first.generation() == generation; ++first) {
      of_one.emplace_back(first->first.slot(), first->second);
    }
    STACKMAP_TRY(writer.write_refs(generation, of_one));
  }
  return {};
}

Result<void> FtraceImport::write(std::unique_ptr<WritableFile> file, const CaptureInfo& info) const {
  CaptureWriter::Options options;
  options.anchors = false;
  STACKMAP_TRY_VALUE(writer, CaptureWriter::create(std::move(file), info, types_, options));
  STACKMAP_TRY(write_tables(*writer));
  STACKMAP_TRY(write_events(*writer));
  STACKMAP_TRY(write_refs(*writer));
  return writer->close(ledger());
}

}  // namespace stackmap
