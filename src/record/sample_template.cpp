// SPDX-License-Identifier: Apache-2.0
#include "record/sample_template.h"

#include <algorithm>
#include <cstring>

#include "bpf/stackmap_cache.h"

namespace stackmap {

static_assert(SampleTemplate::kMaxFrames == STACKMAP_CACHE_FRAMES);
static_assert(sizeof(SampleTemplate::string) == STACKMAP_STRING_SIZE);
static_assert(sizeof(SampleTemplate::fields) == sizeof(stackmap_cache_key::fields));

std::string_view SampleTemplate::text() const {
  const auto* text = reinterpret_cast<const char*>(string.data());
  return {text, strnlen(text, stackmap_shape_string_words(shape) * 8)};
}

bool SampleTemplate::operator==(const SampleTemplate& other) const {
  return shape == other.shape && fields == other.fields && string == other.string &&
         std::ranges::equal(frames, other.frames);
}

std::optional<SampleTemplate> template_of(std::span<const std::byte> record, const Sample& sample) {
  const RecordLayout& layout = record_layout(sample.kind);
  const size_t depth = sample.kernel_stack.frames.size();
  if (!layout.is_cached() || depth == 0 || depth > SampleTemplate::kMaxFrames || sample.kernel_stack.errnum != 0 ||
      !sample.user_stack.frames.empty() || sample.user_stack.errnum != 0) {
    return std::nullopt;
  }
  stackmap_record_header header;
  std::memcpy(&header, record.data(), sizeof(header));
  SampleTemplate result;
  result.shape = stackmap_cache_shape(header.kind, header.string_size, depth * 8);
  std::memcpy(result.fields.data(), record.data() + sizeof(header) + layout.dynamic_words() * 8,
              layout.fixed_words() * 8);
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
