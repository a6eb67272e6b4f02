// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include "base/bytes.h"
#include "support/catch.h"

using namespace stackmap;

TEST_CASE("crc32c gives the values of RFC 3720, appendix B.4") {
  std::string ascending;
  std::string descending;
  for (int i = 0; i < 32; ++i) {
    ascending += static_cast<char>(i);
    descending += static_cast<char>(31 - i);
  }
  const std::pair<std::string, uint32_t> cases[] = {{std::string(32, '\0'), 0x8a9136aa},
                                                    {std::string(32, '\xff'), 0x62a8ab43},
                                                    {ascending, 0x46dd794e},
                                                    {descending, 0x113fdb5c},
                                                    {"123456789", 0xe3069283}};
  for (const auto& [text, crc] : cases) {
    CHECK(crc32c(bytes_of(text)) == crc);
    CHECK(crc32c_portable(bytes_of(text)) == crc);
  }
}

TEST_CASE("with and without the instruction, at every length and start, and in pieces") {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += static_cast<char>(i * 37);
  }
  for (size_t from = 0; from < 9; ++from) {
    for (size_t n = 0; n + from <= text.size(); ++n) {
      const auto part = bytes_of(text).subspan(from, n);
      REQUIRE(crc32c(part) == crc32c_portable(part));
      REQUIRE(crc32c(part.subspan(n / 2), crc32c(part.first(n / 2))) == crc32c(part));
    }
  }
}
