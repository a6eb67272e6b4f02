// SPDX-License-Identifier: Apache-2.0
// What recurs of an event: its kind, the static part of its fields, its string and its whole stack. The in-memory side
// of the entries of bpf/stackmap_cache.h. Two events of one template differ in what a batch carries, and in nothing
// else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "record/sample.h"

namespace stackmap {

struct SampleTemplate {
  static constexpr size_t kMaxFrames = 64;

  uint64_t shape = 0;                  // stackmap_cache_shape(): kind and sizes
  std::array<uint64_t, 2> fields{};    // the static ones as the record has them; 0 where there are fewer
  std::array<uint64_t, 8> string{};    // NUL-terminated, zero behind
  std::span<const uint64_t> frames{};  // of whoever made the template; at most kMaxFrames

  KnownEvent kind() const { return static_cast<KnownEvent>(shape & 0xff); }
  std::string_view text() const;
  // Equal in every word.
  bool operator==(const SampleTemplate& other) const;
};

// An event of a batch: all of it but what its template has.
struct BatchEvent {
  uint64_t time_ns = 0;
  uint32_t cpu = 0;
  uint32_t tid = 0;
  uint32_t tgid = 0;
  uint64_t word = 0;  // the dynamic part of its fields; 0 where the kind has none
};

// The template of a record, which decoded to `sample`; its frames are the sample's. None for a kind whose program does
// not use the cache, and without a stack, or with one that is deeper than a template can hold.
std::optional<SampleTemplate> template_of(std::span<const std::byte> record, const Sample& sample);

// Where the programs look: the same function on both sides.
using TemplateHash = uint64_t (*)(const SampleTemplate&);
uint64_t template_hash(const SampleTemplate& sample_template);

}  // namespace stackmap
