// SPDX-License-Identifier: Apache-2.0
// A patched kernel's trace, and the stack_map files that were saved with it.
//
// A line with a stack or a cookie belongs to the event line before it of the same thread, CPU and level of interrupt,
// as long as no other event of that CPU at that level or below has come between; an interrupt's own events may. One
// that belongs to no event becomes an event of its own, `ftrace:stack`.
//
// The text does not say an event's category: it is kmem or sched where the name is one of those that stackmap records
// itself, else ftrace. Types have one string field without a name: the event's text. What does not begin with "name: "
// is ftrace:function ("function <-caller") or ftrace:text. Frames get made-up addresses (frame_names.h).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "capture/map_file.h"
#include "import/ftrace_counts.h"
#include "import/ftrace_line.h"
#include "import/imports.h"
#include "import/text_lines.h"

namespace stackmap {

namespace {

constexpr std::string_view kStackEvent = "stack";
constexpr std::string_view kFunctionEvent = "function";
constexpr std::string_view kTextEvent = "text";
// A longer line is not understood: the kernel's are shorter than 8 KiB.
constexpr size_t kMaxFtraceLine = size_t{64} << 10;

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

class FtraceImport {
 public:
  // kCorrupt if a map is none, if two maps have different frames for one cookie, or if no line of the trace is
  // understood.
  static Result<Import> read(const ImportInput& input);

 private:
  // What was last on a CPU at one level of interrupt: an event that has no stack yet.
  struct Open {
    bool set = false;
    uint32_t tid = 0;
    size_t event = 0;
  };
  struct Cpu {
    Open levels[4];
  };
  struct Place {
    size_t file = 0;    // index of the map
    uint64_t line = 0;  // of the stack's header there
  };
  enum class Frames : uint8_t { kNone, kKernel, kUser };  // what a " => " line belongs to

  Result<void> read_map(std::span<const NamedText> maps, size_t index);
  void read_trace(const NamedText& trace);
  bool take_line(const TraceLine& line);
  bool take_frame(const TraceLine& line);
  void take_event(const TraceLine& line);
  size_t add_event(const TraceLine& line, std::string_view name, std::string_view text);
  size_t stack_owner(const TraceLine& line);
  void count_cookies();

  CaptureBuilder capture_{FrameText::kKernel};
  std::map<Cookie, Place> mapped_;  // where each stack was read first
  std::unordered_map<uint32_t, Cpu> cpus_;
  Frames in_frames_ = Frames::kNone;
  size_t frame_owner_ = 0;  // the event of the frames, where they are the kernel's
  uint64_t understood_ = 0;
  FtraceCounts counts_;
  SkippedLines skipped_;
};

Result<Import> FtraceImport::read(const ImportInput& input) {
  FtraceImport import;
  for (size_t i = 0; i < input.maps.size(); ++i) {
    STACKMAP_TRY(import.read_map(input.maps, i));
  }
  import.read_trace(input.file);
  if (import.understood_ == 0) {
    return make_error(ErrorKind::kCorrupt, import.skipped_.count() == 0
                                               ? input.file.name + " has no events"
                                               : "no line of it is one of a trace: " + import.skipped_.first());
  }
  import.count_cookies();
  import.counts_.add_to(import.capture_.ledger(), import.capture_.events(), import.skipped_);
  return Import{std::move(import.capture_), import.counts_.warnings(import.skipped_), import.counts_.summary()};
}

Result<void> FtraceImport::read_map(std::span<const NamedText> maps, size_t index) {
  const NamedText& map = maps[index];
  STACKMAP_TRY_VALUE(records, parse_map_file(map.text, map.name));
  uint64_t line = 1;
  std::vector<uint64_t> frames;
  for (const MapFileRecord& record : records) {
    const auto bad = [&](std::string_view reason) {
      return make_error(ErrorKind::kCorrupt, fmt::format("{}:{}: {}", map.name, line, reason));
    };
    if (record.cookie.generation() == 0 || record.cookie.slot() > kMaxImportSlot) {
      return bad("no map has such a cookie");
    }
    if (record.frames.size() > kMaxFtraceDepth) {
      return bad(fmt::format("a stack has more than {} frames", kMaxFtraceDepth));
    }
    if (std::ranges::any_of(record.frames, [](const std::string& frame) { return frame.size() > kMaxFtraceLine; })) {
      return bad(fmt::format("a frame has more than {} bytes", kMaxFtraceLine));
    }
    frames.clear();
    std::ranges::transform(record.frames, std::back_inserter(frames),
                           [&](const std::string& frame) { return capture_.names().address(frame); });
    const Place& first = mapped_.try_emplace(record.cookie, Place{index, line}).first->second;
    if (!capture_.stacks().add(record.cookie, frames)) {
      return bad(fmt::format("<stack_id {} gen {}> has other frames than at {}:{}", record.cookie.slot(),
                             record.cookie.generation(), maps[first.file].name, first.line));
    }
    line += 1 + record.frames.size();
  }
  return {};
}

void FtraceImport::read_trace(const NamedText& trace) {
  LineReader lines(trace.text);
  while (const auto line = lines.next()) {
    const bool whole = line->ended && line->text.size() <= kMaxFtraceLine;
    if (!whole || !take_line(parse_trace_line(line->text))) {
      in_frames_ = Frames::kNone;
      skipped_.add(trace.name, *line);
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
    case TraceLine::Kind::kCookie:
      capture_.set_cookie(stack_owner(line), line.cookie);
      break;
    case TraceLine::Kind::kStack:
      frame_owner_ = stack_owner(line);
      capture_.begin_stack(frame_owner_);
      in_frames_ = Frames::kKernel;
      break;
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
  if (in_frames_ == Frames::kUser) {
    return true;
  }
  if (capture_.depth(frame_owner_) < kMaxFtraceDepth) {
    capture_.add_frame(frame_owner_, capture_.names().address(line.text));
  } else {
    ++counts_.cut_frames;
  }
  return true;
}

void FtraceImport::take_event(const TraceLine& line) {
  const EventText split = split_event_text(line.text);
  const size_t event = split.name.empty()
                           ? add_event(line, is_function(line.text) ? kFunctionEvent : kTextEvent, split.text)
                           : add_event(line, split.name, split.text);
  Cpu& cpu = cpus_[line.cpu];
  for (size_t level = line.level; level < std::size(cpu.levels); ++level) {
    cpu.levels[level].set = false;  // an interrupt has ended when what it interrupted goes on
  }
  cpu.levels[line.level] = {true, line.tid, event};
}

size_t FtraceImport::add_event(const TraceLine& line, std::string_view name, std::string_view text) {
  capture_.threads().see(line.time_ns, line.tid, line.tgid, line.comm == "<...>" ? std::string_view() : line.comm);
  std::string category = category_of(name);
  auto type = capture_.find_type(category, name);
  if (!type && capture_.types() + 1 >= CaptureBuilder::kMaxTypes) {
    // The last number is for the text of all the events that find none left.
    name = kTextEvent;
    category = category_of(name);
    text = line.text;
    type = capture_.find_type(category, name);
  }
  if (!type) {
    type = capture_.add_type(std::move(category), std::string(name), {{"", FieldFormat::kString}});
  }
  const uint64_t field = capture_.text(text);
  return capture_.add_event({line.time_ns, line.cpu, line.tid, *type}, std::span(&field, 1));
}

// The number of the event that a line with a stack or a cookie belongs to.
size_t FtraceImport::stack_owner(const TraceLine& line) {
  Open& open = cpus_[line.cpu].levels[line.level];
  if (open.set && open.tid == line.tid) {
    open.set = false;
    return open.event;
  }
  return add_event(line, kStackEvent, {});
}

void FtraceImport::count_cookies() {
  std::set<uint32_t> generations;
  for (const auto& [cookie, place] : capture_.stacks().places()) {
    generations.insert(cookie.generation());
  }
  capture_.for_each_cookie([&](Cookie cookie) {
    if (!capture_.stacks().contains(cookie)) {
      ++(generations.contains(cookie.generation()) ? counts_.unknown_cookies : counts_.stale_cookies);
    }
  });
}

}  // namespace

ImportFormat ftrace_import() {
  ImportFormat format;
  format.name = "ftrace";
  format.help = "The trace of a kernel with the ftrace stack map series, and its stack_map: NAME.smc and NAME.map";
  format.file = "TRACE";
  format.file_help = "A saved 'trace' of tracefs; '-': stdin";
  format.maps_help = "A saved 'stack_map' of tracefs; may be repeated";
  format.symbol_source = "the text of the trace and of its stack_map files";
  format.memory_base = size_t{1} << 20;
  format.memory_factor = 64;
  format.read = FtraceImport::read;
  return format;
}

}  // namespace stackmap
