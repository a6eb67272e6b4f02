// SPDX-License-Identifier: Apache-2.0
#include "import/capture_builder.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "capture/capture_writer.h"

namespace stackmap {

namespace {

// Table entries between two flushes: keeps a block far below its limit.
constexpr size_t kFlushEntries = 65536;
constexpr size_t kMaxStringBytes = size_t{8} << 20;  // of text between two flushes

// Flushes a writer when so many entries were added.
class TableFlusher {
 public:
  explicit TableFlusher(CaptureWriter& writer) : writer_(writer) {}

  Result<void> add(size_t entries) {
    pending_ += entries;
    if (pending_ < kFlushEntries) {
      return {};
    }
    pending_ = 0;
    return writer_.flush(nullptr);
  }

 private:
  CaptureWriter& writer_;
  size_t pending_ = 0;
};

}  // namespace

std::optional<uint16_t> CaptureBuilder::find_type(std::string_view category, std::string_view name) const {
  const auto found = type_ids_.find(fmt::format("{}:{}", category, name));
  return found != type_ids_.end() ? std::optional(found->second) : std::nullopt;
}

uint16_t CaptureBuilder::add_type(std::string category, std::string name, std::vector<FieldType> fields) {
  const auto id = static_cast<uint16_t>(kFirstFreeEventType + types_.size());
  types_.push_back({id, std::move(category), std::move(name), std::move(fields)});
  type_ids_.emplace(types_.back().full_name(), id);
  return id;
}

uint64_t CaptureBuilder::text(std::string_view text) {
  texts_.push_back(text);
  return texts_.size() - 1;
}

size_t CaptureBuilder::add_event(const Head& head, std::span<const uint64_t> fields) {
  Built event;
  event.head = head;
  event.first_field = fields_.size();
  fields_.insert(fields_.end(), fields.begin(), fields.end());
  events_.push_back(event);
  return events_.size() - 1;
}

void CaptureBuilder::set_cookie(size_t event, Cookie cookie) {
  events_[event].state = StackRef::State::kCookie;
  events_[event].cookie = cookie;
}

void CaptureBuilder::begin_stack(size_t event) {
  events_[event].state = StackRef::State::kFallback;
  events_[event].first_frame = frames_.size();
}

void CaptureBuilder::add_frame(size_t event, uint64_t address) {
  frames_.push_back(address);
  ++events_[event].depth;
}

void CaptureBuilder::set_stack(size_t event, std::span<const uint64_t> frames) {
  if (frames.size() <= kMaxCookieDepth) {
    set_cookie(event, stacks_.intern(frames));
    return;
  }
  begin_stack(event);
  for (const uint64_t frame : frames) {
    add_frame(event, frame);
  }
}

Result<void> CaptureBuilder::write_tables(CaptureWriter& writer) const {
  for (const TaskRecord& task : threads_.records()) {
    writer.add_task(task);
  }
  TableFlusher flusher(writer);
  for (const auto& [address, symbol] : names_.symbols()) {
    writer.add_symbol(address, symbol);
    // A name can be as long as a line.
    STACKMAP_TRY(flusher.add(1 + symbol.name.size() / 64));
  }
  uint32_t generation = 0;
  for (const auto& [cookie, place] : stacks_.places()) {
    if (cookie.generation() != generation) {
      generation = cookie.generation();
      STACKMAP_TRY(writer.flush(nullptr));
    }
    writer.add_stack(cookie, stacks_.frames(place));
    STACKMAP_TRY(flusher.add(1 + place.depth));
  }
  return writer.flush(nullptr);
}

Result<void> CaptureBuilder::write_events(CaptureWriter& writer) const {
  size_t text_bytes = 0;
  std::vector<uint64_t> fields;
  for (const Built& built : events_) {
    const std::vector<FieldType>& types = type_of(built).fields;
    fields.assign(types.size(), 0);
    for (size_t i = 0; i < types.size(); ++i) {
      const uint64_t value = fields_[built.first_field + i];
      const bool is_text = types[i].format == FieldFormat::kString;
      fields[i] = is_text ? writer.string_id(texts_[value]) : value;
      text_bytes += is_text ? texts_[value].size() : 0;
    }
    Event event;
    event.time_ns = built.head.time_ns;
    event.cpu = built.head.cpu;
    event.tid = built.head.tid;
    event.type = built.head.type;
    event.stack.state = built.state;
    event.stack.cookie = built.cookie;
    event.stack.frames = std::span(frames_).subspan(built.first_frame, built.depth);
    event.fields = fields;
    STACKMAP_TRY(writer.add_event(event));
    if (text_bytes > kMaxStringBytes) {
      text_bytes = 0;
      STACKMAP_TRY(writer.flush(nullptr));
    }
  }
  return writer.flush(nullptr);
}

Result<void> CaptureBuilder::write_refs(CaptureWriter& writer) const {
  std::map<Cookie, uint64_t> refs;
  for (const auto& [cookie, place] : stacks_.places()) {
    refs.emplace_hint(refs.end(), cookie, 0);
  }
  for_each_cookie([&](Cookie cookie) {
    if (const auto found = refs.find(cookie); found != refs.end()) {
      ++found->second;
    }
  });
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

Result<void> CaptureBuilder::write(std::unique_ptr<WritableFile> file, const CaptureInfo& info) const {
  CaptureWriter::Options options;
  options.anchors = false;
  STACKMAP_TRY_VALUE(writer, CaptureWriter::create(std::move(file), info, types_, options));
  STACKMAP_TRY(write_tables(*writer));
  STACKMAP_TRY(write_events(*writer));
  STACKMAP_TRY(write_refs(*writer));
  return writer->close(ledger_);
}

}  // namespace stackmap
