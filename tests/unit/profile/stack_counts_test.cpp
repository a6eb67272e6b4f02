// SPDX-License-Identifier: Apache-2.0
#include "profile/stack_counts.h"

#include <map>
#include <tuple>

#include "support/catch.h"

namespace stackmap {

TEST_CASE("counts agree with a map, through growth", "[stack_counts]") {
  using Kind = StackKey::Kind;
  using Key = std::tuple<Kind, uint64_t, uint32_t>;
  StackCounts counts;
  std::map<Key, std::pair<uint64_t, uint64_t>> model;
  uint64_t random = 7;
  for (int i = 0; i < 50000; ++i) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    const Key key{static_cast<Kind>(random >> 62), (random >> 40) % 700, static_cast<uint32_t>(random >> 20) % 5};
    counts.add({std::get<1>(key), std::get<2>(key), std::get<0>(key)}, random >> 50);
    model[key].first += random >> 50;
    ++model[key].second;
  }
  REQUIRE(model.size() > 1024);  // more than the table begins with
  const auto entries = counts.entries();
  REQUIRE(entries.size() == model.size());
  for (const auto& entry : entries) {
    const auto expected = model.at({entry.key.kind, entry.key.stack, entry.key.task});
    CHECK(entry.value == expected.first);
    CHECK(entry.count == expected.second);
  }
}

TEST_CASE("a weight saturates", "[stack_counts]") {
  StackCounts counts;
  counts.add({1, 0, StackKey::Kind::kCookie}, ~uint64_t{0});
  counts.add({1, 0, StackKey::Kind::kCookie}, 2);
  REQUIRE(counts.entries().size() == 1);
  CHECK(counts.entries()[0].value == ~uint64_t{0});
  CHECK(counts.entries()[0].count == 2);
}

}  // namespace stackmap
