// SPDX-License-Identifier: Apache-2.0
// The tables that all files of a capture fill together, and what is one file's own in them. For Capture alone, as
// capture_part.h is.
//
// Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/capture.h"

namespace stackmap {

// The frames of every stack, one after the other.
struct StackTable {
  struct Place {
    size_t first = 0;
    uint32_t depth = 0;
    uint64_t ref = 0;
  };
  std::vector<uint64_t> frames;
  std::unordered_map<Cookie, Place> places;
};

// A frame that stands for an address whose name is not the same in all files.
struct StandIn {
  uint64_t address = 0;
  KernelSymbol symbol;  // always known: the address as text where its file has no name for it
};
// Stand-ins are numbered from here. Not canonical on x86-64, no kernel or user address on arm64: no frame is there.
inline constexpr uint64_t kStandInBase = 0x5354000000000000;

struct CaptureTables {
  bool several = false;  // files
  size_t files_read = 0;
  std::vector<EventType> types;
  std::unordered_map<uint64_t, std::string> strings;
  std::unordered_map<std::string, uint64_t> string_ids;  // of several: the same, by text
  StackTable stacks;
  std::unordered_map<uint64_t, KernelSymbol> symbols;  // the first name of each address
  std::unordered_set<uint64_t> disagreed;              // addresses that were named again, with another name
  std::vector<StandIn> stand_ins;
  TaskTable tasks;
};

// What the events' decoder and the strings' translation need to know of the types.
struct EventLayout {
  explicit EventLayout(const CaptureTables& tables);
  bool several;                   // files, whose events are translated
  std::vector<uint16_t> fields;   // by type
  std::vector<uint32_t> strings;  // by type: bit i says that field i is a string
};

// One file's entries on their way into the capture's tables. Where there are several files, its strings have other ids
// there, and its frames may be stand-ins.
class PartTables {
 public:
  // Before the first entry, and after the last. `events_begin_ns`: of the file's first event; 0 if it has none.
  void begin(const CaptureTables& tables);
  void end(uint64_t events_begin_ns, CaptureTables& tables);

  void take_types(std::vector<EventType> types, CaptureTables& tables);
  void take_string(uint64_t id, std::string_view text, CaptureTables& tables);
  void take_task(TaskRecord record, CaptureTables& tables);
  void take_stack(Cookie cookie, std::span<const uint64_t> frames, CaptureTables& tables);
  // To the files before; empty if there is none.
  const std::string& contradiction() const { return contradiction_; }

  // From here on `frame` stands for `address`. The frames of the file's stacks are rewritten by use_stand_ins().
  void stand_in(uint64_t address, uint64_t frame) { stand_ins_.emplace(address, frame); }
  void use_stand_ins(CaptureTables& tables) const;

  // The event with its strings and frames as the capture's tables have them; valid until the next call.
  Event translate(const Event& event, const EventLayout& layout);

 private:
  uint64_t stands_for(uint64_t address) const;

  TaskTable tasks_;                                    // where there are several files
  std::unordered_map<uint64_t, uint64_t> string_ids_;  // own -> the capture's, where there are several files
  size_t first_frame_ = 0;                             // of the file's own in the stack table
  size_t end_frame_ = 0;
  std::string contradiction_;
  std::unordered_map<uint64_t, uint64_t> stand_ins_;
  // The event at hand, translated.
  std::vector<uint64_t> frames_;
  std::array<uint64_t, 16> fields_{};
};

}  // namespace stackmap
