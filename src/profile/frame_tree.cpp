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

}  // namespace

FrameTree build_tree(const Profile& profile) {
  const std::vector<uint32_t> ranks = frame_ranks(profile);
  std::vector<size_t> order(profile.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return std::ranges::lexicographical_compare(
        profile.sample(a).frames, profile.sample(b).frames, {}, [&](FrameId f) { return ranks[f]; },
        [&](FrameId f) { return ranks[f]; });
  });

  // Sorted stacks that share their outer frames stand side by side, so `path` (the nodes from the root to here) only
  // ever loses its end and grows anew.
  FrameTree tree;
  std::vector<uint32_t> path;
  for (const size_t index : order) {
    const Profile::Sample sample = profile.sample(index);
    size_t common = 0;
    while (common < path.size() && common < sample.frames.size() &&
           tree.nodes[path[common]].frame == sample.frames[common]) {
      ++common;
    }
    path.resize(common);
    for (size_t depth = common; depth < sample.frames.size(); ++depth) {
      const auto node = static_cast<uint32_t>(tree.nodes.size());
      tree.nodes.push_back({sample.frames[depth], static_cast<uint32_t>(depth), path.empty() ? node : path.back(),
                            tree.total, 0, 0, 0, 0});
      path.push_back(node);
    }
    for (const uint32_t node : path) {
      add_saturating(tree.nodes[node].total, sample.value);
      add_saturating(tree.nodes[node].count, sample.count);
    }
    if (!path.empty()) {
      add_saturating(tree.nodes[path.back()].self, sample.value);
      add_saturating(tree.nodes[path.back()].self_count, sample.count);
    }
    tree.max_depth = std::max(tree.max_depth, static_cast<uint32_t>(sample.frames.size()));
    add_saturating(tree.total, sample.value);
  }
  return tree;
}

}  // namespace stackmap
