// SPDX-License-Identifier: Apache-2.0
// A whole recording without a kernel: a scripted source, a file in memory or a folder of its own, and what was told.
#pragma once

#include <csignal>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "capture/capture.h"
#include "process/kernel_symbol.h"
#include "session/event_selection.h"
#include "session/recording.h"
#include "support/catch.h"
#include "support/faulty_file.h"
#include "support/number_namer.h"
#include "support/record_builder.h"
#include "support/scripted_source.h"
#include "support/temp_tree.h"

namespace stackmap_test {

constexpr const char* kFree = "kmem:kfree";
// Above every thread of this machine, so that nothing is known of it.
constexpr uint32_t kNobody = 0x7fff0000;

inline std::string kfree(uint64_t time_ns, uint64_t pointer, std::vector<uint64_t> stack = {11, 12, 13}) {
  return RecordBuilder(STACKMAP_KFREE)
      .fields(stackmap_free_fields{pointer})
      .at(time_ns, kNobody, kNobody)
      .stack(std::move(stack))
      .bytes();
}

struct ScriptedRecording {
  explicit ScriptedRecording(size_t readers = 1) : source(readers) {
    options.events = select_events({kFree}, {{"kmem", "kfree"}}).value();
    options.flush_ns = 20000000;
    options.tool = "a test";
    hooks.capture_path = "memory";
    hooks.open_file = [this]() -> Result<std::unique_ptr<WritableFile>> {
      return std::unique_ptr<WritableFile>(std::make_unique<FaultyFile>(disk));
    };
    hooks.note = [this](const std::string& text) {
      const std::lock_guard lock(notes_mutex);
      notes.push_back(text);
    };
  }

  // The script's last step: Ctrl-C. For one reader: it is the recording's own thread that plays it.
  void interrupt() {
    source.then([] { (void)::raise(SIGINT); });
  }
  Result<RecordingResult> run() { return Recording::run(options, source, &namer, hooks); }
  Capture capture() const {
    auto opened = Capture::open(memory_file(disk->bytes, "memory"));
    REQUIRE(opened);
    return std::move(opened).value();
  }
  bool noted(std::string_view part) {
    const std::lock_guard lock(notes_mutex);
    return std::ranges::any_of(notes, [&](const std::string& text) { return text.find(part) != std::string::npos; });
  }

  TempTree tree;
  std::shared_ptr<Disk> disk = std::make_shared<Disk>();
  NumberNamer namer;
  ScriptedSource source;
  RecordingOptions options;
  RecordingHooks hooks;
  std::mutex notes_mutex;
  std::vector<std::string> notes;
};

// The first field of every event, in the order of the capture.
inline std::vector<uint64_t> pointers(const Capture& capture) {
  std::vector<uint64_t> all;
  REQUIRE(capture.for_each_event([&](const Event& event) {
    all.push_back(event.fields[0]);
    return true;
  }));
  return all;
}

}  // namespace stackmap_test
