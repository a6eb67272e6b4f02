// SPDX-License-Identifier: Apache-2.0
#include "profile/frame_tree.h"

#include <algorithm>
#include <numeric>

#include "base/saturating.h"

namespace stackmap {

namespace {

// Place of each frame in the order of name and kind.
std::vector<uint32_t> frame_ranks(const Profile& profile) {
  std::vector<FrameId> order(profile.frame_count());
  std::iota(order.begin(), order.end(), FrameId{0});
  std::ranges::sort(order, [&](FrameId a, FrameId b) {
    const Frame& x = profile.frame(a);
    const Frame& y = profile.frame(b);
    return x.name != y.name ? x.name < y.name : x.kind < y.kind;
  });
  std::vector<uint32_t> ranks(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    ranks[order[i]] = static_cast<uint32_t>(i);
  }
  return ranks;
}

// The numbers of the stacks, in the order of their frames from the root on.
std::vector<size_t> sorted_stacks(const Profile& profile) {
  const std::vector<uint32_t> ranks = frame_ranks(profile);
  std::vector<size_t> order(profile.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return std::ranges::lexicographical_compare(
        profile.sample(a).frames, profile.sample(b).frames, {}, [&](FrameId f) { return ranks[f]; },
        [&](FrameId f) { return ranks[f]; });
  });
  return order;
}

void add_each(std::vector<uint64_t>& sums, size_t first, std::span<const uint64_t> values) {
  for (size_t column = 0; column < values.size(); ++column) {
    add_saturating(sums[first + column], values[column]);
  }
}

}  // namespace

uint32_t FrameTree::add_node(FrameId frame, const std::vector<uint32_t>& path, uint64_t start) {
  const auto node = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({frame, static_cast<uint32_t>(path.size()), path.empty() ? node : path.back(), start});
  totals_.resize(nodes_.size() * columns_);
  selfs_.resize(nodes_.size() * columns_);
  return node;
}

FrameTree::FrameTree(const Profile& profile) : columns_(profile.columns().size()) {
  // Sorted stacks that share their outer frames stand side by side, so `path` (the nodes from the root to here) only
  // ever loses its end and grows anew.
  std::vector<uint32_t> path;
  uint64_t before = 0;
  for (const size_t index : sorted_stacks(profile)) {
    const Profile::Sample sample = profile.sample(index);
    size_t common = 0;
    while (common < path.size() && common < sample.frames.size() &&
           nodes_[path[common]].frame == sample.frames[common]) {
      ++common;
    }
    path.resize(common);
    for (const FrameId frame : sample.frames.subspan(common)) {
      path.push_back(add_node(frame, path, before));
    }
    for (const uint32_t node : path) {
      add_each(totals_, node * columns_, sample.values);
    }
    if (!path.empty()) {
      add_each(selfs_, path.back() * columns_, sample.values);
    }
    add_saturating(before, sample.values.front());
  }
}

}  // namespace stackmap
