// SPDX-License-Identifier: Apache-2.0
#include "stackmap/cookie.h"

#include <unordered_set>

#include "support/catch.h"

using stackmap::Cookie;

TEST_CASE("a cookie is generation << 32 | slot") {
  // Worked out by hand from the layout that the kernel series documents.
  CHECK(Cookie(1, 42).value() == 0x000000010000002a);
  CHECK(Cookie(0x12345678, 0x9abcdef0).value() == 0x123456789abcdef0);
  CHECK(Cookie(0xffffffff, 0xffffffff).value() == 0xffffffffffffffff);
  CHECK(Cookie(7, 9).generation() == 7);
  CHECK(Cookie(7, 9).slot() == 9);
}

TEST_CASE("a cookie comes back from its value") {
  const auto cookie = Cookie::from_value(0x8000000180000002);
  CHECK(cookie.generation() == 0x80000001);
  CHECK(cookie.slot() == 0x80000002);
  CHECK(cookie == Cookie(0x80000001, 0x80000002));
}

TEST_CASE("slot 0 is a slot, and no generation has the cookie 0") {
  CHECK(Cookie().value() == 0);
  CHECK(Cookie(1, 0) != Cookie());
  CHECK(Cookie(1, 0).value() == 0x100000000);
}

TEST_CASE("cookies are ordered by generation, then by slot, and can be keys") {
  CHECK(Cookie(1, 9) < Cookie(2, 0));
  CHECK(Cookie(2, 0) < Cookie(2, 1));
  const std::unordered_set<Cookie> set = {Cookie(1, 2), Cookie(2, 1), Cookie(1, 2)};
  CHECK(set.size() == 2);
}
