// SPDX-License-Identifier: Apache-2.0
#include "profile/byte_weights.h"

#include <bit>

namespace stackmap {

namespace {

// No kernel hands out 2^40 pages at once: a larger order is damage.
constexpr uint64_t kMaxOrder = 40;
constexpr uint64_t kNoPage = ~uint64_t{0};

bool is_slab_allocation(const std::string& name) {
  return name == "kmalloc" || name == "kmalloc_node" || name == "kmem_cache_alloc" || name == "kmem_cache_alloc_node";
}

}  // namespace

ByteWeights::ByteWeights(const EventSource& source) : page_size_(source.page_size()) {
  for (const EventType& type : source.event_types()) {
    const bool page = type.name == "mm_page_alloc";
    if (type.category != "kmem" || (!page && !is_slab_allocation(type.name))) {
      continue;
    }
    if (type.id >= rules_.size()) {
      rules_.resize(size_t{type.id} + 1);
    }
    rules_[type.id] = {true, page, type.field(page ? "order" : "bytes_alloc"), type.field(page ? "pfn" : "ptr")};
  }
}

ByteWeights::Verdict ByteWeights::weigh(const Event& event, uint64_t& bytes) const {
  if (event.type >= rules_.size() || !rules_[event.type].allocation) {
    return Verdict::kNotAllocation;
  }
  const Rule& rule = rules_[event.type];
  if (rule.result && *rule.result < event.fields.size() &&
      event.fields[*rule.result] == (rule.page ? kNoPage : uint64_t{0})) {
    return Verdict::kFailed;
  }
  if (!rule.size || *rule.size >= event.fields.size()) {
    return Verdict::kUnknownSize;
  }
  const uint64_t size = event.fields[*rule.size];
  if (!rule.page) {
    bytes = size;
    return Verdict::kBytes;
  }
  if (size > kMaxOrder || page_size_ == 0 || std::countl_zero(page_size_) < static_cast<int>(size)) {
    return Verdict::kUnknownSize;
  }
  bytes = page_size_ << size;
  return Verdict::kBytes;
}

}  // namespace stackmap
