// SPDX-License-Identifier: Apache-2.0
// The bytes of allocations, what the weights of bytes share: a field of kmalloc and kmem_cache_alloc (and their _node
// forms), the page size << `order` of mm_page_alloc. Types are told by category and name, fields by name, so imported
// events count too. Other events, and allocations that failed or have no usable size, weigh nothing and are told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "profile/weights/weight.h"

namespace stackmap {

class AllocationWeight final : public Weight {
 public:
  // `slab_field` has the bytes of an object.
  AllocationWeight(const EventSource& source, std::string_view slab_field);

  void take(const Event& event, WeightSink& sink) override;
  std::vector<std::string> notes() const override;

 private:
  struct Rule {
    bool allocation = false;
    bool page = false;
    std::optional<size_t> size;
    std::optional<size_t> result;
  };
  // None if the field is not there, the order is above 40, or the page size is not known.
  std::optional<uint64_t> size_of(const Rule& rule, const Event& event) const;

  uint64_t page_size_;
  std::vector<Rule> rules_;  // by EventType::id
  uint64_t not_allocations_ = 0;
  uint64_t failed_ = 0;  // the allocation gave nothing: ptr 0, or pfn ~0
  uint64_t unknown_sizes_ = 0;
};

}  // namespace stackmap
