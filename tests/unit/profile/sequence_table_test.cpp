// SPDX-License-Identifier: Apache-2.0
#include "profile/sequence_table.h"

#include <map>

#include "support/catch.h"

namespace stackmap {

TEST_CASE("sequences are numbered as a map would number them", "[sequence_table]") {
  SequenceTable<uint64_t> table;
  std::map<std::vector<uint64_t>, uint32_t> model;
  uint64_t random = 1;
  for (int i = 0; i < 20000; ++i) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    std::vector<uint64_t> items((random >> 60) % 4);
    for (size_t k = 0; k < items.size(); ++k) {
      items[k] = (random >> (8 * k + 20)) % 12;
    }
    const auto expected = model.try_emplace(items, static_cast<uint32_t>(model.size())).first->second;
    REQUIRE(table.intern(items) == expected);
  }
  REQUIRE(table.size() == model.size());
  for (const auto& [items, index] : model) {
    const auto stored = table.at(index);
    CHECK(std::vector<uint64_t>(stored.begin(), stored.end()) == items);
  }
}

}  // namespace stackmap
