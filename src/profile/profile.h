// SPDX-License-Identifier: Apache-2.0
// A profile: distinct stacks, root first, each with a value in every column. Every output format is written from one of
// these and from nothing else.
//
// The first column is the weight that the profile was made for: views sort by it, and draw it. The others stand beside
// it: the number of events where the weight is another one, or the same weight after a change.
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

struct ValueColumn {
  std::string name;  // what it is called where several are offered: "count", "bytes"
  Unit unit = Unit::kEvents;
};

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
    std::span<const FrameId> frames;   // root first
    std::span<const uint64_t> values;  // one a column
  };

  // At least one column.
  explicit Profile(std::vector<ValueColumn> columns = {{"count", Unit::kEvents}})
      : columns_(std::move(columns)), totals_(columns_.size()) {}
  // Indexes point into the object's own strings.
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;
  Profile(Profile&&) = default;
  Profile& operator=(Profile&&) = default;

  FrameId frame(std::string_view name, FrameKind kind);
  const Frame& frame(FrameId id) const { return frames_[id]; }
  size_t frame_count() const { return frames_.size(); }

  const std::vector<ValueColumn>& columns() const { return columns_; }
  Unit unit() const { return columns_.front().unit; }

  // Adds to the sample of these frames, which is made if it is new: a value for each column. The frames may be none.
  void add(std::span<const FrameId> frames, std::span<const uint64_t> values);
  size_t size() const { return stacks_.size(); }
  bool empty() const { return size() == 0; }
  // The spans are valid until the next add().
  Sample sample(size_t index) const;

  // Of all samples, by column.
  const std::vector<uint64_t>& totals() const { return totals_; }
  uint64_t total() const { return totals_.front(); }
  bool saturated() const { return saturated_; }

  std::string title;
  std::string losses;              // one line: what the capture lost; empty if that is not known
  std::vector<std::string> notes;  // what a reader must know about the numbers, a sentence each

 private:
  struct NameHash {
    size_t operator()(const std::pair<std::string_view, FrameKind>& key) const {
      return std::hash<std::string_view>()(key.first) ^ static_cast<size_t>(key.second);
    }
  };

  void accumulate(uint64_t& sum, uint64_t value);

  std::deque<Frame> frames_;  // a deque, so that the views below stay valid
  std::unordered_map<std::pair<std::string_view, FrameKind>, FrameId, NameHash> ids_;
  SequenceTable<FrameId> stacks_;
  std::vector<ValueColumn> columns_;
  std::vector<uint64_t> values_;  // by the stack's number and column
  std::vector<uint64_t> totals_;  // by column
  bool saturated_ = false;
};

// "12.3 KiB", "1,234".
std::string value_text(Unit unit, uint64_t value);
// "12.3 KiB (12,595 bytes)", "1 event", "1,234 events".
std::string value_text_with_unit(Unit unit, uint64_t value);
// The totals of a profile: "12.3 KiB (12,595 bytes) in 40 events".
std::string total_text(const Profile& profile);
// "45.2%", one decimal; "<0.1%" for what would otherwise read as nothing, "0.0%" of nothing.
std::string percent_text(uint64_t part, uint64_t whole);

}  // namespace stackmap
