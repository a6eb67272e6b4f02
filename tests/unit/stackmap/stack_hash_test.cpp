// SPDX-License-Identifier: Apache-2.0
#include "stackmap/stack_hash.h"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "support/catch.h"

using stackmap::StackHash;

namespace {

std::vector<uint64_t> kernel_stack(size_t depth) {
  std::vector<uint64_t> frames(depth);
  for (size_t i = 0; i < depth; ++i) {
    frames[i] = 0xffffffff81000000 + i * 0x3f1;
  }
  return frames;
}

}  // namespace

TEST_CASE("a stack hash depends on each frame, on the depth and on the seed") {
  for (const StackHash hash : {stackmap::fastest_stack_hash(), StackHash{stackmap::portable_stack_hash}}) {
    for (const size_t depth : {1U, 2U, 3U, 14U, 127U}) {
      const auto frames = kernel_stack(depth);
      std::set<uint32_t> seen = {hash(frames, 1), hash(frames, 2)};
      // On the frames alone, wherever they lie.
      std::vector<uint64_t> elsewhere(depth + 1);
      std::copy(frames.begin(), frames.end(), elsewhere.begin() + 1);
      CHECK(hash(std::span(elsewhere).subspan(1), 1) == hash(frames, 1));
      for (size_t i = 0; i < depth; ++i) {
        auto changed = frames;
        changed[i] ^= uint64_t{1} << (i % 64);
        seen.insert(hash(changed, 1));
      }
      // All different; by chance two of 129 would meet once in 500,000 such sets.
      CHECK(seen.size() == depth + 2);
    }
    CHECK(hash(kernel_stack(4), 1) != hash(kernel_stack(5), 1));
  }
}

TEST_CASE("the upper bits, which choose the slot, are spread evenly") {
  for (const StackHash hash : {stackmap::fastest_stack_hash(), StackHash{stackmap::portable_stack_hash}}) {
    // Stacks that differ in one return address only, as those of one function called from many places.
    constexpr size_t kStacks = 16384;
    std::vector<int> buckets(1024);
    auto frames = kernel_stack(14);
    for (size_t i = 0; i < kStacks; ++i) {
      frames[7] = 0xffffffff81000000 + i * 16;
      ++buckets[hash(frames, 1) >> 22];
    }
    double chi_squared = 0;
    for (const int count : buckets) {
      chi_squared += (count - 16.0) * (count - 16.0) / 16.0;
    }
    // 1,023 degrees of freedom: mean 1,023, deviation 45. Evener than chance does no harm.
    CHECK(chi_squared < 1023 + 5 * 45);
  }
}
