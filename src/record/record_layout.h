// SPDX-License-Identifier: Apache-2.0
// Where a kind's record has the fields of its event, in the order in which the tracepoint prints them, and what follows
// from that: computed when the layout is made, so that reading a record or an entry of a batch needs no decision about
// its kind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>

namespace stackmap {

enum class FieldRole : uint8_t {
  kUnsigned,
  kSigned,   // to be sign-extended
  kSubject,  // unsigned: the thread that the event is about
  kString,   // the record's string; has no place among the fields
};

struct FieldPlace {
  uint8_t offset = 0;  // bytes, in the record's fields
  uint8_t size = 0;    // 1, 2, 4 or 8 bytes; 0 for the string
  FieldRole role = FieldRole::kUnsigned;
};

// The place of a member of one of the contract's structs.
template <typename Member>
constexpr FieldPlace field_place(size_t offset) {
  return {static_cast<uint8_t>(offset), sizeof(Member),
          std::is_signed_v<Member> ? FieldRole::kSigned : FieldRole::kUnsigned};
}

class RecordLayout {
 public:
  static constexpr size_t kMaxFields = 6;
  static constexpr size_t kMaxBytes = 40;
  static constexpr uint8_t kNotCached = 0xff;

  // There is no such kind.
  constexpr RecordLayout() = default;
  // `bytes` of fields, a multiple of 8, of which the first `dynamic` differ from event to event: 8 or 0 bytes. A kind
  // whose program does not use the cookie cache has kNotCached.
  constexpr RecordLayout(size_t bytes, uint8_t dynamic, std::initializer_list<FieldPlace> fields)
      : bytes_(static_cast<uint8_t>(bytes)), dynamic_bytes_(dynamic) {
    for (const FieldPlace& field : fields) {
      add(field);
    }
  }
  constexpr void add(FieldPlace field) {
    string_field_ = field.role == FieldRole::kString ? static_cast<int8_t>(count_) : string_field_;
    subject_field_ = field.role == FieldRole::kSubject ? static_cast<int8_t>(count_) : subject_field_;
    if (is_cached() && field.size != 0 && field.offset < dynamic_bytes_) {
      dynamic_[dynamic_count_++] = count_;
    }
    fields_[count_++] = field;
  }

  // What the rows of the table must keep to.
  constexpr bool is_sound() const {
    bool sound = bytes_ % 8 == 0 && bytes_ <= kMaxBytes;
    sound = sound && (!is_cached() || (dynamic_bytes_ % 8 == 0 && dynamic_words() <= 1 && fixed_words() <= 2));
    for (size_t i = 0; i < count_; ++i) {
      const size_t end = size_t{fields_[i].offset} + fields_[i].size;
      sound = sound && end <= bytes_ && fields_[i].offset % 8U + fields_[i].size <= 8U;
      sound = sound && (!is_cached() || fields_[i].offset >= dynamic_bytes_ || end <= dynamic_bytes_);
    }
    return sound;
  }

  constexpr size_t bytes() const { return bytes_; }
  constexpr size_t field_count() const { return count_; }
  constexpr const FieldPlace& field(size_t i) const { return fields_[i]; }
  constexpr int string_field() const { return string_field_; }  // -1: none
  // Whether the programs look events of this kind up in the cookie cache.
  constexpr bool is_cached() const { return dynamic_bytes_ != kNotCached && bytes_ != 0; }
  // 64-bit words of the fields that an entry of a batch carries, and of those that its template has. For a kind that is
  // cached.
  constexpr size_t dynamic_words() const { return dynamic_bytes_ / 8; }
  constexpr size_t fixed_words() const { return (bytes_ - dynamic_bytes_) / 8U; }

  // Takes the fields from a record's; the string's is 0. `from` has bytes().
  void read(const std::byte* from, std::array<uint64_t, kMaxFields>& fields) const {
    for (size_t i = 0; i < count_; ++i) {
      uint64_t word = 0;
      std::memcpy(&word, from + (fields_[i].offset & ~size_t{7}), sizeof(word));
      fields[i] = value(word, fields_[i]);
    }
    if (string_field_ >= 0) {
      fields[static_cast<size_t>(string_field_)] = 0;
    }
  }
  // Takes those that the word of a batch's entry has.
  void read_dynamic(uint64_t word, std::array<uint64_t, kMaxFields>& fields) const {
    for (size_t i = 0; i < dynamic_count_; ++i) {
      const FieldPlace& place = fields_[dynamic_[i]];
      fields[dynamic_[i]] = value(word, place);
    }
  }
  // The thread that an event with these fields is about; 0: none.
  uint32_t subject(const std::array<uint64_t, kMaxFields>& fields) const {
    return subject_field_ < 0 ? 0 : static_cast<uint32_t>(fields[static_cast<size_t>(subject_field_)]);
  }

 private:
  // From the aligned word that the field is in. Byte order: the lowest bits first, on all machines that are supported.
  static uint64_t value(uint64_t word, const FieldPlace& place) {
    const unsigned above = (64U - 8U * place.size) & 63U;
    const uint64_t high = word >> (8U * (place.offset & 7U)) << above;
    return place.role == FieldRole::kSigned ? static_cast<uint64_t>(static_cast<int64_t>(high) >> above)
                                            : high >> above;
  }

  uint8_t bytes_ = 0;
  uint8_t dynamic_bytes_ = 0;
  uint8_t count_ = 0;
  uint8_t dynamic_count_ = 0;
  int8_t string_field_ = -1;
  int8_t subject_field_ = -1;
  std::array<uint8_t, kMaxFields> dynamic_{};  // the numbers of the fields in the dynamic word
  std::array<FieldPlace, kMaxFields> fields_{};
};

}  // namespace stackmap
