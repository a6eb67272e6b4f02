// SPDX-License-Identifier: Apache-2.0
// A profile: distinct stacks, root first, each with what it weighs and how often it was met. Every output format is
// written from one of these and from nothing else.
//
// Names are the bytes that the source gave; a writer makes them safe for its own format. Sums saturate at 2^64 - 1, and
// saturated() says so. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/sequence_table.h"

namespace stackmap {

enum class Unit : uint8_t { kEvents, kBytes };
std::string_view unit_name(Unit unit);  // "events", "bytes"

enum class FrameKind : uint8_t {
  kTask,    // the thread's name: the root
  kKernel,  // a kernel function
  kUser,    // a function of a program
  kBucket,  // stands for stacks that are not there: "[no stack]", "[stack error EFAULT]"
};

struct Frame {
  std::string name;
  FrameKind kind = FrameKind::kKernel;
  bool operator==(const Frame&) const = default;
};

// Index into Profile::frames(). Two frames are one if name and kind are the same.
using FrameId = uint32_t;

class Profile {
 public:
  struct Sample {
    std::span<const FrameId> frames;  // root first; valid until the next add()
    uint64_t value = 0;               // in unit()
    uint64_t count = 0;               // events
  };

  Profile() = default;
  // Indexes point into the object's own strings.
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;
  Profile(Profile&&) = default;
  Profile& operator=(Profile&&) = default;

  FrameId frame(std::string_view name, FrameKind kind);
  const Frame& frame(FrameId id) const { return frames_[id]; }
  size_t frame_count() const { return frames_.size(); }

  // Adds to the sample of these frames, which is made if it is new. The frames may be none.
  void add(std::span<const FrameId> frames, uint64_t value, uint64_t count);
  size_t size() const { return weights_.size(); }
  bool empty() const { return weights_.empty(); }
  Sample sample(size_t index) const;

  uint64_t total_value() const { return total_value_; }
  uint64_t total_count() const { return total_count_; }
  bool saturated() const { return saturated_; }

  Unit unit = Unit::kEvents;
  std::string title;
  std::string losses;              // one line: what the capture lost; empty if that is not known
  std::vector<std::string> notes;  // what a reader must know about the numbers, a sentence each

 private:
  struct Weights {
    uint64_t value = 0;
    uint64_t count = 0;
  };
  struct NameHash {
    size_t operator()(const std::pair<std::string_view, FrameKind>& key) const {
      return std::hash<std::string_view>()(key.first) ^ static_cast<size_t>(key.second);
    }
  };

  void accumulate(uint64_t& sum, uint64_t value);

  std::deque<Frame> frames_;  // a deque, so that the views below stay valid
  std::unordered_map<std::pair<std::string_view, FrameKind>, FrameId, NameHash> ids_;
  SequenceTable<FrameId> stacks_;
  std::vector<Weights> weights_;  // by the stack's number
  uint64_t total_value_ = 0;
  uint64_t total_count_ = 0;
  bool saturated_ = false;
};

// "12.3 KiB", "1,234".
std::string value_text(Unit unit, uint64_t value);
// "12.3 KiB (12,595 bytes)", "1 event", "1,234 events".
std::string value_text_with_unit(Unit unit, uint64_t value);
// "45.2%", one decimal; "<0.1%" for what would otherwise read as nothing, "0.0%" of nothing.
std::string percent_text(uint64_t part, uint64_t whole);

}  // namespace stackmap
