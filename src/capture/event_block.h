// SPDX-License-Identifier: Apache-2.0
// The payload of a block of events (FORMAT.md section 4): columns, delta-coded. Not thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "capture/event.h"

namespace stackmap {

inline constexpr uint32_t kFieldColumnBase = 64;
inline constexpr uint32_t kFieldColumnsPerType = 16;  // so many fields can a type have
inline constexpr uint32_t kMaxBlockCpu = 65535;

// A growing run of varints.
class Column {
 public:
  // Returns how many bytes it took.
  size_t put(uint64_t value) {
    if (end_ - at_ < kMaxVarint) {
      grow();
    }
    if (value < 0x80) {
      *at_++ = static_cast<unsigned char>(value);
      return 1;
    }
    if (value >= uint64_t{1} << 56) {
      return put_long(value);
    }
    // Lengths of times and pointers follow no pattern: a loop over the bytes is a wrong guess at each value. So the
    // bits are spread, 7 to a byte, and eight bytes are stored, of which some count.
    uint64_t bytes = value;
    bytes = (bytes & 0x000000000fffffff) | (bytes & 0x00fffffff0000000) << 4;
    bytes = (bytes & 0x00003fff00003fff) | (bytes & 0x0fffc0000fffc000) << 2;
    bytes = (bytes & 0x007f007f007f007f) | (bytes & 0x3f803f803f803f80) << 1;
    const auto length = (static_cast<size_t>(std::bit_width(value)) + 6) / 7;
    bytes |= 0x8080808080808080 & ((uint64_t{1} << (length * 8 - 8)) - 1);
    if constexpr (std::endian::native == std::endian::big) {
      bytes = __builtin_bswap64(bytes);
    }
    std::memcpy(at_, &bytes, sizeof(bytes));
    at_ += length;
    return length;
  }
  void clear() { at_ = bytes_.get(); }
  size_t size() const { return static_cast<size_t>(at_ - bytes_.get()); }
  std::string_view view() const { return {reinterpret_cast<const char*>(bytes_.get()), size()}; }

 private:
  static constexpr ptrdiff_t kMaxVarint = 10;
  void grow();
  size_t put_long(uint64_t value);

  std::unique_ptr<unsigned char[]> bytes_;
  unsigned char* at_ = nullptr;
  unsigned char* end_ = nullptr;
};

// The slots of one block, each by its index in the order of their first use.
class SlotIndex {
 public:
  struct Place {
    uint32_t index = 0;
    bool is_new = false;
  };
  Place place(uint32_t slot) {
    Seen& seen = slot < near_.size() ? near_[slot] : make_room(slot);
    if (seen.block == block_) {
      return {seen.index, false};
    }
    seen = {block_, count_++};
    return {seen.index, true};
  }
  // From here on for the next block.
  void clear();

 private:
  struct Seen {
    uint32_t block = 0;  // the last one that had the slot
    uint32_t index = 0;  // in it
  };
  Seen& make_room(uint32_t slot);

  uint32_t block_ = 1;
  uint32_t count_ = 0;
  std::vector<Seen> near_;                  // by slot
  std::unordered_map<uint32_t, Seen> far_;  // of slots that no map has
};

// Collects the events of one block.
class EventBlockEncoder {
 public:
  // `event.cpu` must not exceed kMaxBlockCpu, its type not 4095, and it must have at most kFieldColumnsPerType fields.
  // All the cookies of a block are of one generation.
  void add(const Event& event);

  uint32_t events() const { return events_; }
  uint32_t generation() const { return generation_; }  // of the cookies so far; 0 if there were none
  uint64_t first_ns() const { return first_ns_; }
  uint64_t last_ns() const { return last_ns_; }
  size_t bytes() const;  // of the payload, about

  // Appends the payload to `out` and starts anew.
  void finish(std::string& out);

 private:
  struct Cpu {
    bool used = false;
    uint64_t time_ns = 0;
    uint32_t tid = 0;
  };
  struct Field {
    Column column;
    uint64_t before = 0;
  };
  struct Type {
    std::vector<Field> fields;
  };
  // What every event has, or its stack.
  struct Columns {
    Column types, cpus, times, tids, states, cookies, slots, fallbacks, errors;
  };
  void add_stack(const StackRef& stack);

  uint32_t events_ = 0;
  uint32_t generation_ = 0;
  uint64_t base_ns_ = 0;
  uint64_t first_ns_ = 0;
  uint64_t last_ns_ = 0;
  Columns columns_;
  SlotIndex slots_;
  std::vector<Cpu> cpu_;
  std::vector<Type> fields_;  // by event type
  size_t field_bytes_ = 0;    // estimate for bytes()
};

// Reads one block. The bytes are not trusted: it allocates at most kMemoryBase, which is room for every CPU up to
// kMaxBlockCpu, for the columns of every type, and for a fallback of 65,536 frames; and kMemoryFactor bytes for each
// byte of the payload, for the slots that it lists.
class EventBlockDecoder {
 public:
  static constexpr size_t kMemoryBase = size_t{16} << 20;
  static constexpr size_t kMemoryFactor = 6;
  using FieldCount = std::function<size_t(uint16_t type)>;  // of a type; 0 for an unknown one

  // Calls `callback` for every event; it returns false to stop. `generation` and `count` are the block header's.
  // kCorrupt if the payload contradicts the format: events before that place have been handed over then, so check first
  // where that matters.
  Result<bool> decode(std::span<const std::byte> payload, uint32_t generation, uint32_t count,
                      const FieldCount& field_count, const std::function<bool(const Event&)>& callback);

 private:
  struct State;
  std::vector<uint64_t> frames_;
};

}  // namespace stackmap
