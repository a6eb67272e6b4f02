// SPDX-License-Identifier: Apache-2.0
// A patched kernel's trace, and the stack_map files that were saved with it, made into a capture.
//
// A line with a stack or a cookie belongs to the event line before it of the same thread, CPU and level of interrupt,
// as long as no other event of that CPU at that level or below has come between; an interrupt's own events may. One
// that belongs to no event becomes an event of its own, `ftrace:stack`.
//
// The text does not say an event's category: it is kmem or sched where the name is one of those that stackmap records
// itself, else ftrace. Types have one string field without a name: the event's text. What does not begin with "name: "
// is ftrace:function ("function <-caller") or ftrace:text. Frames get made-up addresses (frame_names.h).
//
// Memory follows the trace: about its size again, and for text that is made to take as much as it can at most
// kMemoryBase and kMemoryFactor bytes for each byte of trace and maps. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "capture/capture.h"
#include "capture/ledger.h"
#include "import/frame_names.h"
#include "import/ftrace_line.h"
#include "process/task_table.h"

namespace stackmap {

class CaptureWriter;

struct NamedText {
  std::string name;  // of the file
  std::string text;
};

struct ImportCounts {
  uint64_t events = 0;
  uint64_t stacks = 0;           // of the maps
  uint64_t stale_cookies = 0;    // events whose cookie is of a generation that no map is of
  uint64_t unknown_cookies = 0;  // events whose cookie is not in the map of its generation
  uint64_t lost_events = 0;      // as the trace says
  uint64_t lost_uncounted = 0;   // places where the trace says that events were lost and not how many
  uint64_t overwritten = 0;      // entries of the ring, as the trace's head says
  uint64_t user_stacks = 0;      // left out
  uint64_t skipped_lines = 0;    // not understood
};

class FtraceImport {
 public:
  static constexpr size_t kMemoryBase = size_t{1} << 20;
  static constexpr size_t kMemoryFactor = 64;
  // A stack with more frames is refused in a map, and cut in a trace.
  static constexpr size_t kMaxDepth = 4096;
  // A longer line is not understood: the kernel's are shorter than 8 KiB.
  static constexpr size_t kMaxLine = size_t{64} << 10;

  // The text of the trace must outlive the import. kCorrupt, with the file and the line, if a map is none, if two maps
  // have different frames for one cookie, or if no line of the trace is understood.
  static Result<FtraceImport> read(const NamedText& trace, std::span<const NamedText> maps);

  // Writes the capture. Of `info` the caller fills what describes him.
  Result<void> write(std::unique_ptr<WritableFile> file, const CaptureInfo& info) const;

  const ImportCounts& counts() const { return counts_; }
  // "NAME:LINE: ..." of the first line that was not understood; empty if there is none.
  const std::string& first_skipped() const { return first_skipped_; }
  Ledger ledger() const;

 private:
  struct Imported {
    uint64_t time_ns = 0;
    uint32_t cpu = 0;
    uint32_t tid = 0;
    uint16_t type = 0;
    StackRef::State state = StackRef::State::kNone;
    Cookie cookie;
    size_t first_frame = 0;  // in frames_
    uint32_t depth = 0;
    std::string_view text;
  };
  struct MapStack {
    std::vector<uint64_t> frames;
    size_t file = 0;    // index of the map
    uint64_t line = 0;  // of its header there
  };
  // What was last on a CPU at one level of interrupt: an event that has no stack yet.
  struct Open {
    bool set = false;
    uint32_t tid = 0;
    size_t event = 0;
  };
  struct Cpu {
    Open levels[4];
  };
  enum class Frames : uint8_t { kNone, kKernel, kUser };  // what a " => " line belongs to

  Result<void> read_map(std::span<const NamedText> maps, size_t index);
  void read_trace(const NamedText& trace);
  bool take_line(const TraceLine& line);
  bool take_frame(const TraceLine& line);
  void take_task(const TraceLine& line);
  void take_event(const TraceLine& line);
  Imported& stack_owner(const TraceLine& line);
  uint16_t type_of(std::string_view name);
  void count_cookies();
  Result<void> write_tables(CaptureWriter& writer) const;
  Result<void> write_events(CaptureWriter& writer) const;
  Result<void> write_refs(CaptureWriter& writer) const;

  FrameNames names_;
  std::map<Cookie, MapStack> stacks_;
  std::vector<EventType> types_;
  std::unordered_map<std::string, uint16_t> type_ids_;
  std::vector<Imported> events_;
  std::vector<uint64_t> frames_;
  std::vector<TaskRecord> tasks_;
  std::unordered_map<uint32_t, size_t> task_of_;  // tid -> its last record
  std::unordered_map<uint32_t, Cpu> cpus_;
  Frames in_frames_ = Frames::kNone;
  size_t frame_owner_ = 0;  // the event of the frames, where they are the kernel's
  uint64_t understood_ = 0;
  ImportCounts counts_;
  std::string first_skipped_;
};

}  // namespace stackmap
