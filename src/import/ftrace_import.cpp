// SPDX-License-Identifier: Apache-2.0
#include "import/ftrace_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "capture/map_file.h"

namespace stackmap {

namespace {

constexpr std::string_view kStackEvent = "stack";
constexpr std::string_view kFunctionEvent = "function";
constexpr std::string_view kTextEvent = "text";
// The format's highest number is 4095; the encoder takes those below it.
constexpr size_t kMaxTypes = 4095 - kFirstFreeEventType;
constexpr size_t kShownBytes = 80;  // of a line in a message

std::string category_of(std::string_view name) {
  for (const EventType& type : known_event_types()) {
    if (type.name == name) {
      return type.category;
    }
  }
  return "ftrace";
}

bool is_function(std::string_view text) {
  return text.find(" <-") != std::string_view::npos;
}

}  // namespace

Result<FtraceImport> FtraceImport::read(const NamedText& trace, std::span<const NamedText> maps) {
  FtraceImport import;
  for (size_t i = 0; i < maps.size(); ++i) {
    STACKMAP_TRY(import.read_map(maps, i));
  }
  import.read_trace(trace);
  if (import.understood_ == 0) {
    return make_error(ErrorKind::kCorrupt, import.first_skipped_.empty()
                                               ? trace.name + " has no events"
                                               : "no line of it is one of a trace: " + import.first_skipped_);
  }
  import.count_cookies();
  return import;
}

Result<void> FtraceImport::read_map(std::span<const NamedText> maps, size_t index) {
  const NamedText& map = maps[index];
  STACKMAP_TRY_VALUE(records, parse_map_file(map.text, map.name));
  uint64_t line = 1;
  for (const MapFileRecord& record : records) {
    const auto bad = [&](std::string_view reason) {
      return make_error(ErrorKind::kCorrupt, fmt::format("{}:{}: {}", map.name, line, reason));
    };
    if (record.cookie.generation() == 0 || record.cookie.slot() > kMaxImportSlot) {
      return bad("no map has such a cookie");
    }
    if (record.frames.size() > kMaxDepth) {
      return bad(fmt::format("a stack has more than {} frames", kMaxDepth));
    }
    if (std::ranges::any_of(record.frames, [](const std::string& frame) { return frame.size() > kMaxLine; })) {
      return bad(fmt::format("a frame has more than {} bytes", kMaxLine));
    }
    std::vector<uint64_t> frames;
    frames.reserve(record.frames.size());
    std::ranges::transform(record.frames, std::back_inserter(frames),
                           [&](const std::string& frame) { return names_.address(frame); });
    const auto [held, is_new] = stacks_.try_emplace(record.cookie);
    if (is_new) {
      held->second = {std::move(frames), index, line};
    } else if (held->second.frames != frames) {
      return bad(fmt::format("<stack_id {} gen {}> has other frames than at {}:{}", record.cookie.slot(),
                             record.cookie.generation(), maps[held->second.file].name, held->second.line));
    }
    line += 1 + record.frames.size();
  }
  counts_.stacks = stacks_.size();
  return {};
}

void FtraceImport::read_trace(const NamedText& trace) {
  std::string_view rest = trace.text;
  for (uint64_t number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    // A last line without its end may have lost more than that.
    const bool whole = end != std::string_view::npos && text.size() <= kMaxLine;
    if (whole && take_line(parse_trace_line(text))) {
      continue;
    }
    in_frames_ = Frames::kNone;
    if (counts_.skipped_lines++ == 0) {
      first_skipped_ = fmt::format("{}:{}: '{}'", trace.name, number, printable(text.substr(0, kShownBytes)));
    }
  }
}

bool FtraceImport::take_line(const TraceLine& line) {
  if (line.kind == TraceLine::Kind::kFrame) {
    return take_frame(line);
  }
  in_frames_ = Frames::kNone;
  switch (line.kind) {
    case TraceLine::Kind::kUnknown:
      return false;
    case TraceLine::Kind::kOverwritten:
      counts_.overwritten += line.count;
      return true;
    case TraceLine::Kind::kLost:
      counts_.lost_events += line.count;
      counts_.lost_uncounted += line.count == 0 ? 1 : 0;
      cpus_.erase(line.cpu);  // a stack that comes may be of an event that was lost
      break;
    case TraceLine::Kind::kEvent:
      take_event(line);
      break;
    case TraceLine::Kind::kUserStack:
      ++counts_.user_stacks;
      in_frames_ = Frames::kUser;
      break;
    case TraceLine::Kind::kCookie: {
      Imported& event = stack_owner(line);
      event.state = StackRef::State::kCookie;
      event.cookie = line.cookie;
      break;
    }
    case TraceLine::Kind::kStack: {
      Imported& event = stack_owner(line);
      event.state = StackRef::State::kFallback;
      event.first_frame = frames_.size();
      in_frames_ = Frames::kKernel;
      frame_owner_ = static_cast<size_t>(&event - events_.data());
      break;
    }
    default:
      return true;
  }
  ++understood_;
  return true;
}

bool FtraceImport::take_frame(const TraceLine& line) {
  if (in_frames_ == Frames::kNone) {
    return false;
  }
  Imported* const event = in_frames_ == Frames::kKernel ? &events_[frame_owner_] : nullptr;
  if (event != nullptr && event->depth < kMaxDepth) {
    frames_.push_back(names_.address(line.text));
    ++event->depth;
  }
  return true;
}

// A thread's name is the one at its first event, until an event shows another one.
void FtraceImport::take_task(const TraceLine& line) {
  const std::string_view comm = line.comm == "<...>" ? std::string_view() : line.comm;
  if (line.tid == 0 || (comm.empty() && line.tgid == 0)) {
    return;
  }
  const auto [last, is_new] = task_of_.try_emplace(line.tid, tasks_.size());
  if (!is_new) {
    const TaskRecord& before = tasks_[last->second];
    if ((comm.empty() || comm == before.comm) && (line.tgid == 0 || line.tgid == before.tgid)) {
      return;
    }
    last->second = tasks_.size();
  }
  const TaskChange change = is_new ? TaskChange::kSeen : TaskChange::kRename;
  tasks_.push_back({line.time_ns, change, line.tid, line.tgid, 0, std::string(comm)});
}

uint16_t FtraceImport::type_of(std::string_view name) {
  // The last number is for the text of all the events that find none left.
  const bool full = types_.size() + 1 >= kMaxTypes && !type_ids_.contains(std::string(name));
  const std::string key(full ? kTextEvent : name);
  const auto [known, is_new] = type_ids_.try_emplace(key, static_cast<uint16_t>(kFirstFreeEventType + types_.size()));
  if (is_new) {
    types_.push_back({known->second, category_of(key), key, {{"", FieldFormat::kString}}});
  }
  return known->second;
}

void FtraceImport::take_event(const TraceLine& line) {
  take_task(line);
  Imported event;
  event.time_ns = line.time_ns;
  event.cpu = line.cpu;
  event.tid = line.tid;
  const EventText split = split_event_text(line.text);
  event.text = split.text;
  if (!split.name.empty()) {
    event.type = type_of(split.name);
    const EventType& type = types_[event.type - kFirstFreeEventType];
    event.text = type.name == split.name ? split.text : line.text;
  } else {
    event.type = type_of(is_function(line.text) ? kFunctionEvent : kTextEvent);
  }
  Cpu& cpu = cpus_[line.cpu];
  for (size_t level = line.level; level < std::size(cpu.levels); ++level) {
    cpu.levels[level].set = false;  // an interrupt has ended when what it interrupted goes on
  }
  cpu.levels[line.level] = {true, line.tid, events_.size()};
  events_.push_back(event);
  ++counts_.events;
}

FtraceImport::Imported& FtraceImport::stack_owner(const TraceLine& line) {
  Open& open = cpus_[line.cpu].levels[line.level];
  if (open.set && open.tid == line.tid) {
    open.set = false;
    return events_[open.event];
  }
  take_task(line);
  Imported event;
  event.time_ns = line.time_ns;
  event.cpu = line.cpu;
  event.tid = line.tid;
  event.type = type_of(kStackEvent);
  events_.push_back(event);
  ++counts_.events;
  return events_.back();
}

void FtraceImport::count_cookies() {
  std::map<uint32_t, bool> generations;
  for (const auto& [cookie, stack] : stacks_) {
    generations[cookie.generation()] = true;
  }
  for (const Imported& event : events_) {
    if (event.state == StackRef::State::kCookie && !stacks_.contains(event.cookie)) {
      const bool stale = !generations.contains(event.cookie.generation());
      ++(stale ? counts_.stale_cookies : counts_.unknown_cookies);
    }
  }
}

}  // namespace stackmap
