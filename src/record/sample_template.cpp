// SPDX-License-Identifier: Apache-2.0
#include "record/sample_template.h"

#include <algorithm>
#include <cstring>

#include "bpf/stackmap_cache.h"

namespace stackmap {

static_assert(SampleTemplate::kMaxFrames == STACKMAP_CACHE_FRAMES);
static_assert(sizeof(SampleTemplate::string) == STACKMAP_STRING_SIZE);
static_assert(sizeof(SampleTemplate::fields) == sizeof(stackmap_cache_key::fields));
static_assert(STACKMAP_ALLOC_DYNAMIC == offsetof(stackmap_alloc_fields, bytes_requested));
static_assert(STACKMAP_PAGE_DYNAMIC == offsetof(stackmap_page_fields, order));
static_assert(STACKMAP_FREE_DYNAMIC == sizeof(stackmap_free_fields));
static_assert(STACKMAP_SWITCH_DYNAMIC == offsetof(stackmap_switch_fields, prev_prio));
static_assert(STACKMAP_WAKEUP_DYNAMIC == offsetof(stackmap_wakeup_fields, prio));

std::string_view SampleTemplate::text() const {
  const auto* text = reinterpret_cast<const char*>(string.data());
  return {text, strnlen(text, stackmap_shape_string_words(shape) * 8)};
}

bool SampleTemplate::operator==(const SampleTemplate& other) const {
  return shape == other.shape && fields == other.fields && string == other.string &&
         std::ranges::equal(frames, other.frames);
}

namespace {

constexpr std::array<FieldWords, 32> make_field_words() {
  std::array<FieldWords, 32> all{};
  const auto set = [&](std::initializer_list<SampleKind> kinds, size_t dynamic, size_t size) {
    for (const SampleKind kind : kinds) {
      all[static_cast<size_t>(kind)] = {dynamic / 8, (size - dynamic) / 8};
    }
  };
  using enum SampleKind;
  set({kKmalloc, kKmallocNode, kKmemCacheAlloc, kKmemCacheAllocNode}, STACKMAP_ALLOC_DYNAMIC,
      sizeof(stackmap_alloc_fields));
  set({kKfree, kKmemCacheFree}, STACKMAP_FREE_DYNAMIC, sizeof(stackmap_free_fields));
  set({kMmPageAlloc, kMmPageFree}, STACKMAP_PAGE_DYNAMIC, sizeof(stackmap_page_fields));
  set({kSchedSwitch}, STACKMAP_SWITCH_DYNAMIC, sizeof(stackmap_switch_fields));
  set({kSchedWaking, kSchedWakeup, kSchedWakeupNew}, STACKMAP_WAKEUP_DYNAMIC, sizeof(stackmap_wakeup_fields));
  set({kAny}, STACKMAP_ANY_DYNAMIC, sizeof(stackmap_any_fields));
  return all;
}

constexpr std::array<FieldWords, 32> kFieldWords = make_field_words();

// The first bytes of the fields.
template <typename Fields>
Fields fields_of(uint64_t word) {
  Fields fields{};
  std::memcpy(&fields, &word, sizeof(word));
  return fields;
}

}  // namespace

FieldWords field_words(SampleKind kind) {
  const auto index = static_cast<size_t>(kind);
  return index < kFieldWords.size() ? kFieldWords[index] : FieldWords{};
}

uint32_t set_dynamic_fields(SampleKind kind, uint64_t word, std::array<uint64_t, Sample::kMaxFields>& fields) {
  switch (kind) {
    case SampleKind::kSchedSwitch: {
      const auto f = fields_of<stackmap_switch_fields>(word);
      fields[1] = f.prev_state;
      fields[2] = f.next_tid;
      return f.next_tid;
    }
    case SampleKind::kSchedWaking:
    case SampleKind::kSchedWakeup:
    case SampleKind::kSchedWakeupNew: {
      const auto f = fields_of<stackmap_wakeup_fields>(word);
      fields[0] = f.tid;
      fields[2] = static_cast<uint64_t>(int64_t{f.target_cpu});
      return f.tid;
    }
    case SampleKind::kAny:
      return 0;
    default:
      // A pointer, or the number of a page.
      fields[0] = word;
      return 0;
  }
}

std::optional<SampleTemplate> template_of(std::span<const std::byte> record, const Sample& sample) {
  const FieldWords words = field_words(sample.kind);
  const size_t depth = sample.kernel_stack.frames.size();
  if (words.dynamic + words.fixed == 0 || depth == 0 || depth > SampleTemplate::kMaxFrames ||
      sample.kernel_stack.errnum != 0 || !sample.user_stack.frames.empty() || sample.user_stack.errnum != 0) {
    return std::nullopt;
  }
  stackmap_record_header header;
  std::memcpy(&header, record.data(), sizeof(header));
  SampleTemplate result;
  result.shape = stackmap_cache_shape(header.kind, header.string_size, depth * 8);
  if (words.fixed != 0) {
    std::memcpy(result.fields.data(), record.data() + sizeof(header) + words.dynamic * 8, words.fixed * 8);
  }
  std::memcpy(result.string.data(), sample.string.data(), sample.string.size());
  result.frames = sample.kernel_stack.frames;
  return result;
}

uint64_t template_hash(const SampleTemplate& sample_template) {
  const stackmap_cache_key key = {sample_template.shape, {sample_template.fields[0], sample_template.fields[1]}};
  // Copies: the contract's integers are another type of the same size.
  std::array<__u64, STACKMAP_CACHE_STRING_WORDS> string;
  std::array<__u64, STACKMAP_CACHE_FRAMES> frames;
  std::memcpy(string.data(), sample_template.string.data(), sizeof(string));
  if (!sample_template.frames.empty()) {
    std::memcpy(frames.data(), sample_template.frames.data(), sample_template.frames.size_bytes());
  }
  return stackmap_cache_hash(&key, string.data(), frames.data());
}

}  // namespace stackmap
