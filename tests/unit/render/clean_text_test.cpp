// SPDX-License-Identifier: Apache-2.0
#include "render/clean_text.h"

#include "base/text.h"
#include "support/catch.h"
#include "support/report_fixture.h"

namespace stackmap {

TEST_CASE("what breaks lines, XML or the direction of writing is escaped", "[clean_text]") {
  CHECK(clean_text("plain <&> 日本 é") == "plain <&> 日本 é");
  CHECK(clean_text("a\x01\x1b\x7f") == "a\\x01\\x1b\\x7f");
  CHECK(clean_text("\xff") == "\\xff");
  CHECK(clean_text("\xc2\x85") == "\\xc2\\x85");                                      // U+0085, next line
  CHECK(clean_text("\xe2\x80\xa8\xe2\x80\xa9") == "\\xe2\\x80\\xa8\\xe2\\x80\\xa9");  // line, paragraph separator
  CHECK(clean_text("\xe2\x80\xae") == "\\xe2\\x80\\xae");                             // right-to-left override
  CHECK(clean_text("\xef\xbf\xbf") == "\\xef\\xbf\\xbf");                             // U+FFFF
  CHECK(clean_text("\xf0\x9f\xbf\xbe") == "\\xf0\\x9f\\xbf\\xbe");                    // U+1FFFE
  CHECK(clean_text("\xc2\xa0") == "\xc2\xa0");                                        // U+00A0 is a character
  CHECK(display_name("") == "[empty]");
}

TEST_CASE("nasty names come out as UTF-8 without control bytes, and apart", "[clean_text]") {
  std::vector<std::string> seen;
  for (const std::string& name : test::nasty_names()) {
    const std::string clean = clean_text(name);
    CAPTURE(clean);
    CHECK(is_utf8(clean));
    CHECK(std::none_of(clean.begin(), clean.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; }));
    CHECK(std::find(seen.begin(), seen.end(), clean) == seen.end());
    seen.push_back(clean);
  }
}

TEST_CASE("columns and cutting", "[clean_text]") {
  CHECK(text_columns("abc") == 3);
  CHECK(text_columns("日本") == 4);
  CHECK(text_columns("e\xcc\x81") == 1);  // e and a combining accent
  CHECK(text_columns("é") == 1);
  CHECK(text_columns("😀") == 2);
  CHECK(cut_to_columns("abcdef", 6) == "abcdef");
  CHECK(cut_to_columns("abcdef", 5) == "abcd…");
  CHECK(cut_to_columns("abcdef", 1) == "…");
  CHECK(cut_to_columns("abcdef", 0).empty());
  CHECK(cut_to_columns("日本語", 4) == "日…");  // three columns: half a character is not drawn
  CHECK(cut_to_columns("日本語", 6) == "日本語");
  CHECK(cut_to_columns("", 0).empty());
}

TEST_CASE("text is broken at spaces", "[clean_text]") {
  CHECK(wrap_text("aa bb cc", 5) == std::vector<std::string>{"aa bb", "cc"});
  CHECK(wrap_text("aa bb cc", 4) == std::vector<std::string>{"aa", "bb", "cc"});
  CHECK(wrap_text("a longerword b", 5) == std::vector<std::string>{"a", "long…", "b"});
  CHECK(wrap_text("日本 語", 6) == std::vector<std::string>{"日本", "語"});  // seven columns in all
}

}  // namespace stackmap
