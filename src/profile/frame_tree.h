// SPDX-License-Identifier: Apache-2.0
// The stacks of a profile as a tree, for flame graphs: nodes in preorder, children by name and then kind.
//
// Built without recursion, so depth is bounded by memory alone. Values saturate as the profile's do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profile/profile.h"

namespace stackmap {

struct TreeNode {
  FrameId frame = 0;
  uint32_t depth = 0;   // 0 for the outermost frame of a stack
  uint32_t parent = 0;  // index of the node; its own for depth 0
  uint64_t start = 0;   // its left edge: what the siblings before it and before its ancestors weigh in the first column
};

class FrameTree {
 public:
  explicit FrameTree(const Profile& profile);

  const std::vector<TreeNode>& nodes() const { return nodes_; }
  // By column: with its children, and of the stacks that end here.
  std::span<const uint64_t> totals(size_t node) const { return std::span(totals_).subspan(node * columns_, columns_); }
  std::span<const uint64_t> selfs(size_t node) const { return std::span(selfs_).subspan(node * columns_, columns_); }

 private:
  uint32_t add_node(FrameId frame, const std::vector<uint32_t>& path, uint64_t start);

  size_t columns_;
  std::vector<TreeNode> nodes_;
  std::vector<uint64_t> totals_;  // by node and column
  std::vector<uint64_t> selfs_;
};

}  // namespace stackmap
