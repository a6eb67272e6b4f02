// SPDX-License-Identifier: Apache-2.0
// Captures that tests make by hand: the segments of a recording, and files with a damaged block.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capture/block.h"
#include "capture/capture.h"
#include "capture/capture_writer.h"
#include "support/catch.h"
#include "support/faulty_file.h"

namespace stackmap_test {

using namespace stackmap;

inline CaptureInfo segment_info(uint64_t segment, uint64_t session = 77) {
  CaptureInfo info;
  info.host = {"6.1.0", "#1 SMP", "x86_64", "boot", "0123ab", 4096, 8};
  info.tool = "stackmap test";
  info.command = "record -a";
  info.symbol_source = "a test";
  info.map_capacity = 16384;
  info.max_depth = 127;
  info.session = session;
  info.segment = segment;
  info.anchors = {{segment, segment + 1, segment + 2}};
  return info;
}

// A capture file in the making.
class TestFile {
 public:
  explicit TestFile(const CaptureInfo& info, std::vector<EventType> types = known_event_types()) {
    CaptureWriter::Options options;
    options.capture_id = 1000 + info.segment;
    options.anchors = false;
    auto made = CaptureWriter::create(std::make_unique<FaultyFile>(disk_), info, types, options);
    REQUIRE(made);
    writer_ = std::move(made).value();
  }

  CaptureWriter& writer() { return *writer_; }
  const std::string& bytes() const { return disk_->bytes; }

  // An event of kmem_cache_free; its fields are a pointer and a string.
  void event(uint64_t time_ns, uint32_t tid, StackRef stack, const std::string& text) {
    const std::array<uint64_t, 2> fields = {0xffff888000000000 + time_ns, writer_->string_id(text)};
    Event event;
    event.time_ns = time_ns;
    event.tid = tid;
    event.type = kKmemCacheFree;
    event.stack = stack;
    event.fields = fields;
    REQUIRE(writer_->add_event(event));
    if (stack.state == StackRef::State::kCookie) {
      ++refs_[stack.cookie];
    }
  }

  // The refs of all stacks, then the end.
  void close(const Ledger& ledger = {}) {
    REQUIRE(writer_->flush(nullptr));
    for (const auto& [cookie, ref] : refs_) {
      const std::pair<uint32_t, uint64_t> one[] = {{cookie.slot(), ref}};
      REQUIRE(writer_->write_refs(cookie.generation(), one));
    }
    REQUIRE(writer_->close(ledger));
  }

 private:
  std::shared_ptr<Disk> disk_ = std::make_shared<Disk>();
  std::unique_ptr<CaptureWriter> writer_;
  std::unordered_map<Cookie, uint64_t> refs_;
};

inline StackRef cookie_ref(uint32_t generation, uint32_t slot) {
  StackRef ref;
  ref.state = StackRef::State::kCookie;
  ref.cookie = Cookie(generation, slot);
  return ref;
}

inline StackRef fallback_ref(std::span<const uint64_t> frames) {
  StackRef ref;
  ref.state = StackRef::State::kFallback;
  ref.frames = frames;
  return ref;
}

using Files = std::vector<std::pair<std::string, std::string>>;  // name, bytes

inline Result<Capture> open_files(const Files& files) {
  std::vector<std::unique_ptr<ReadableFile>> readable;
  for (const auto& [name, bytes] : files) {
    readable.push_back(memory_file(bytes, name));
  }
  return Capture::open(std::move(readable));
}

// The file with a bit of the payload of every block of a kind turned.
inline std::string with_damaged(const std::string& bytes, BlockKind kind) {
  const auto whole = Capture::open(memory_file(bytes, "whole"));
  REQUIRE(whole);
  std::string damaged = bytes;
  for (const BlockInfo& block : whole->blocks()) {
    if (static_cast<BlockKind>(block.kind) == kind) {
      const size_t at = block.offset + block.stored_bytes - 1;
      damaged[at] = static_cast<char>(damaged[at] ^ 1);
    }
  }
  return damaged;
}

// The file without its blocks of a kind.
inline std::string without(const std::string& bytes, BlockKind kind) {
  const auto whole = Capture::open(memory_file(bytes, "whole"));
  REQUIRE(whole);
  std::string rest;
  for (const BlockInfo& block : whole->blocks()) {
    if (static_cast<BlockKind>(block.kind) != kind) {
      rest += bytes.substr(block.offset, block.stored_bytes);
    }
  }
  return rest;
}

// "TIME comm text: leaf;..." of every event, in the order in which they are handed out.
inline std::vector<std::string> told(const Capture& capture) {
  std::vector<std::string> lines;
  REQUIRE(capture.for_each_event([&](const Event& event) {
    std::string line = std::to_string(event.time_ns) + " " + capture.tasks().name(event.tid, event.time_ns).comm;
    line += " " + (event.fields.size() == 2 ? std::string(capture.string(event.fields[1])) : "-") + ":";
    const auto frames =
        event.stack.state == StackRef::State::kCookie ? capture.stack(event.stack.cookie) : event.stack.frames;
    for (const uint64_t frame : frames) {
      line += " " + capture.symbol_text(frame);
    }
    lines.push_back(line);
    return true;
  }));
  return lines;
}

}  // namespace stackmap_test
