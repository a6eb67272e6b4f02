// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <random>

#include "base/bytes.h"
#include "capture/event_block.h"
#include "support/catch.h"

using namespace stackmap;

namespace {

// As FORMAT.md defines it: 7 bits a byte, the lowest first, the highest bit set in all bytes but the last.
std::string varint_of(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value /= 128) {
    bytes += static_cast<char>(128 + value % 128);
  }
  return bytes + static_cast<char>(value);
}

}  // namespace

TEST_CASE("a column holds the varints of its values: every length, its first and its last value, and random ones") {
  std::mt19937_64 random(1);
  std::vector<uint64_t> values = {0, 1, UINT64_MAX};
  for (unsigned bits = 1; bits < 64; ++bits) {
    const uint64_t power = uint64_t{1} << bits;
    values.insert(values.end(), {power - 1, power, power + 1, power | random() % power});
  }
  for (int i = 0; i < 100000; ++i) {
    values.push_back(random() >> random() % 64);
  }
  Column column;
  std::string expected;
  for (const uint64_t value : values) {
    const std::string bytes = varint_of(value);
    REQUIRE(column.put(value) == bytes.size());
    expected += bytes;
  }
  CHECK(column.size() == expected.size());
  CHECK(column.view() == expected);
  ByteReader reader(bytes_of(column.view()));
  for (const uint64_t value : values) {
    REQUIRE(reader.varint() == value);
  }
  column.clear();
  CHECK(column.view().empty());
}
