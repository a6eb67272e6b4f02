// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <limits>

#include "support/catch.h"

using namespace stackmap;

TEST_CASE("varints have the LEB128 bytes of the DWARF standard's examples") {
  // DWARF 5, table 7.7 (figure C.1 of older editions).
  const std::pair<uint64_t, std::string> cases[] = {
      {2, "\x02"}, {127, "\x7f"}, {128, std::string("\x80\x01", 2)}, {129, "\x81\x01"}, {12857, "\xb9\x64"}};
  for (const auto& [value, bytes] : cases) {
    std::string out;
    ByteWriter(out).varint(value);
    CHECK(out == bytes);
    ByteReader reader(bytes_of(bytes));
    CHECK(reader.varint() == value);
    CHECK(reader.at_end());
  }
}

TEST_CASE("every length of varint survives, signed too") {
  std::string out;
  ByteWriter writer(out);
  std::vector<uint64_t> values = {0, std::numeric_limits<uint64_t>::max()};
  for (unsigned bit = 0; bit < 64; ++bit) {
    values.push_back(uint64_t{1} << bit);
    values.push_back((uint64_t{1} << bit) - 1);
  }
  for (const uint64_t value : values) {
    writer.varint(value);
    writer.svarint(static_cast<int64_t>(value));
  }
  ByteReader reader(bytes_of(out));
  for (const uint64_t value : values) {
    CHECK(reader.varint() == value);
    CHECK(reader.svarint() == static_cast<int64_t>(value));
  }
  CHECK(reader.ok());
  CHECK(reader.at_end());
}

TEST_CASE("small negative numbers are short") {
  CHECK(zigzag(0) == 0);
  CHECK(zigzag(-1) == 1);
  CHECK(zigzag(1) == 2);
  CHECK(zigzag(std::numeric_limits<int64_t>::min()) == std::numeric_limits<uint64_t>::max());
}

TEST_CASE("a varint of more than 64 bits is refused") {
  const std::string eleven(10, '\xff');
  ByteReader endless(bytes_of(eleven));
  (void)endless.varint();
  CHECK_FALSE(endless.ok());
  const std::string too_much = std::string(9, '\xff') + "\x02";
  ByteReader reader(bytes_of(too_much));
  (void)reader.varint();
  CHECK_FALSE(reader.ok());
}

TEST_CASE("reading past the end yields zeros and a flag, for good") {
  const std::string three = "abc";
  ByteReader reader(bytes_of(three));
  CHECK(reader.fixed<uint32_t>() == 0);
  CHECK_FALSE(reader.ok());
  CHECK(reader.fixed<uint8_t>() == 0);
  CHECK(reader.take(1).empty());
  ByteReader long_text(bytes_of(three));
  CHECK(long_text.text(std::numeric_limits<uint64_t>::max()).empty());
  CHECK_FALSE(long_text.ok());
}

TEST_CASE("fixed integers are little-endian and keep their sign") {
  std::string out;
  ByteWriter writer(out);
  writer.fixed(uint32_t{0x01020304});
  writer.fixed(int16_t{-2});
  CHECK(out == std::string("\x04\x03\x02\x01\xfe\xff"));
  ByteReader reader(bytes_of(out));
  CHECK(reader.fixed<uint32_t>() == 0x01020304);
  CHECK(reader.fixed<int16_t>() == -2);
}
