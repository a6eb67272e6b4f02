// SPDX-License-Identifier: Apache-2.0
#include "profile/weights/allocation_weight.h"

#include <bit>

#include "profile/notes.h"

namespace stackmap {

namespace {

// No kernel hands out 2^40 pages at once: a larger order is damage.
constexpr uint64_t kMaxOrder = 40;
constexpr uint64_t kNoPage = ~uint64_t{0};

bool is_slab_allocation(const std::string& name) {
  return name == "kmalloc" || name == "kmalloc_node" || name == "kmem_cache_alloc" || name == "kmem_cache_alloc_node";
}

}  // namespace

AllocationWeight::AllocationWeight(const EventSource& source, std::string_view slab_field)
    : page_size_(source.page_size()) {
  for (const EventType& type : source.event_types()) {
    const bool page = type.name == "mm_page_alloc";
    if (type.category != "kmem" || (!page && !is_slab_allocation(type.name))) {
      continue;
    }
    if (type.id >= rules_.size()) {
      rules_.resize(size_t{type.id} + 1);
    }
    rules_[type.id] = {true, page, type.field(page ? "order" : slab_field), type.field(page ? "pfn" : "ptr")};
  }
}

void AllocationWeight::take(const Event& event, WeightSink& sink) {
  if (event.type >= rules_.size() || !rules_[event.type].allocation) {
    ++not_allocations_;
    return;
  }
  const Rule& rule = rules_[event.type];
  if (rule.result && *rule.result < event.fields.size() &&
      event.fields[*rule.result] == (rule.page ? kNoPage : uint64_t{0})) {
    ++failed_;
    return;
  }
  const std::optional<uint64_t> bytes = size_of(rule, event);
  if (!bytes) {
    ++unknown_sizes_;
    return;
  }
  sink.add(sink.key(event), *bytes);
}

std::optional<uint64_t> AllocationWeight::size_of(const Rule& rule, const Event& event) const {
  if (!rule.size || *rule.size >= event.fields.size()) {
    return std::nullopt;
  }
  const uint64_t size = event.fields[*rule.size];
  if (!rule.page) {
    return size;
  }
  if (size > kMaxOrder || page_size_ == 0 || std::countl_zero(page_size_) < static_cast<int>(size)) {
    return std::nullopt;
  }
  return page_size_ << size;
}

std::vector<std::string> AllocationWeight::notes() const {
  std::vector<std::string> notes;
  add_note(notes, not_allocations_, "event", "is no allocation and has no bytes",
           "are no allocations and have no bytes");
  add_note(notes, failed_, "failed allocation", "is not counted as bytes", "are not counted as bytes");
  add_note(notes, unknown_sizes_, "allocation", "without a usable size is not counted",
           "without a usable size are not counted");
  return notes;
}

}  // namespace stackmap
