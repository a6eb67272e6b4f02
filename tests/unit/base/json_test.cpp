// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include "support/catch.h"

using namespace stackmap;

TEST_CASE("an empty JSON string") {
  CHECK(json_string("") == R"("")");
}

TEST_CASE("a JSON string is valid whatever it holds") {
  CHECK(json_string("schedule+0x1/0x2 [m]") == R"("schedule+0x1/0x2 [m]")");
  CHECK(json_string("a\"b\\c") == R"("a\"b\\c")");
  CHECK(json_string(std::string_view("\0\n\x1f\x7f", 4)) == R"("\u0000\u000a\u001f\u007f")");
  CHECK(json_string("\xff\xc3") == R"("\ufffd\ufffd")");
  CHECK(json_string("caf\xc3\xa9 \xf0\x9f\x8c\xb2") == "\"caf\xc3\xa9 \xf0\x9f\x8c\xb2\"");
  CHECK(json_string("\xe2\x82x") == R"("\ufffd\ufffdx")");
  CHECK(json_string("\xed\xa0\x80") == R"("\ufffd\ufffd\ufffd")");  // a surrogate
}
