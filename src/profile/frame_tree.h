// SPDX-License-Identifier: Apache-2.0
// The stacks of a profile as a tree, for flame graphs: nodes in preorder, children by name and then kind.
//
// Built without recursion, so depth is bounded by memory alone. Values saturate as the profile's do.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace stackmap {

struct TreeNode {
  FrameId frame = 0;
  uint32_t depth = 0;   // 0 for the outermost frame of a stack
  uint32_t parent = 0;  // index of the node; its own for depth 0
  uint64_t start = 0;   // what the siblings before it and before its ancestors weigh: its left edge
  uint64_t total = 0;   // with its children
  uint64_t self = 0;    // stacks that end here
  uint64_t count = 0;   // events, with its children
  uint64_t self_count = 0;
};

struct FrameTree {
  std::vector<TreeNode> nodes;
  uint64_t total = 0;      // of everything, stacks without frames included
  uint32_t max_depth = 0;  // levels
};

FrameTree build_tree(const Profile& profile);

}  // namespace stackmap
