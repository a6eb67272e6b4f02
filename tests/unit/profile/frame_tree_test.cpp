// SPDX-License-Identifier: Apache-2.0
#include "profile/frame_tree.h"

#include <map>

#include "support/catch.h"
#include "support/report_fixture.h"

namespace stackmap {

TEST_CASE("nodes are in preorder, by name, with edges that add up", "[frame_tree]") {
  Profile profile = test::bytes_profile();
  test::add_stack(profile, {"z", "a"}, 1);
  test::add_stack(profile, {"b", "m", "y"}, 2, 20);
  test::add_stack(profile, {"b", "m"}, 4, 40);
  test::add_stack(profile, {"b", "a"}, 8, 80);
  profile.add({}, std::vector<uint64_t>{16, 1});
  const FrameTree tree(profile);
  struct Expected {
    std::string name;
    uint32_t depth, parent;
    uint64_t start, total, self, count;
  };
  // By hand: the 16 without frames come first; "b" weighs 2 + 4 + 8.
  const std::vector<Expected> expected = {{"b", 0, 0, 16, 14, 0, 140}, {"a", 1, 0, 16, 8, 8, 80},
                                          {"m", 1, 0, 24, 6, 4, 60},   {"y", 2, 2, 28, 2, 2, 20},
                                          {"z", 0, 4, 30, 1, 0, 1},    {"a", 1, 4, 30, 1, 1, 1}};
  REQUIRE(tree.nodes().size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    const TreeNode& node = tree.nodes()[i];
    CHECK(profile.frame(node.frame).name == expected[i].name);
    CHECK(node.depth == expected[i].depth);
    CHECK(node.parent == expected[i].parent);
    CHECK(node.start == expected[i].start);
    CHECK(tree.totals(i)[0] == expected[i].total);
    CHECK(tree.selfs(i)[0] == expected[i].self);
    CHECK(tree.totals(i)[1] == expected[i].count);
  }
  CHECK(tree.selfs(2)[1] == 40);
  CHECK(tree.selfs(0)[1] == 0);
}

TEST_CASE("the tree holds what a map of prefixes holds", "[frame_tree]") {
  Profile profile;
  std::map<std::vector<std::string>, uint64_t> prefixes;
  uint64_t random = 3;
  for (int i = 0; i < 3000; ++i) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    std::vector<std::string> names(1 + (random >> 60));
    for (size_t k = 0; k < names.size(); ++k) {
      names[k] = std::string(1, static_cast<char>('a' + ((random >> (3 * k)) & 3)));
    }
    test::add_stack(profile, names, random >> 54);
    for (size_t n = 1; n <= names.size(); ++n) {
      prefixes[{names.begin(), names.begin() + static_cast<std::ptrdiff_t>(n)}] += random >> 54;
    }
  }
  const FrameTree tree(profile);
  REQUIRE(tree.nodes().size() == prefixes.size());
  std::vector<std::string> path;
  for (size_t i = 0; i < tree.nodes().size(); ++i) {
    const TreeNode& node = tree.nodes()[i];
    path.resize(node.depth);
    path.push_back(profile.frame(node.frame).name);
    REQUIRE(prefixes.at(path) == tree.totals(i).front());
  }
}

TEST_CASE("an empty profile is an empty tree", "[frame_tree]") {
  CHECK(FrameTree(Profile()).nodes().empty());
}

}  // namespace stackmap
