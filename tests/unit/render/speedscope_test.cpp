// SPDX-License-Identifier: Apache-2.0
// The document as a whole is checked by tests/cli/export_test.py, with a reader of JSON.
#include "base/text.h"
#include "render/format.h"
#include "support/catch.h"
#include "support/report_fixture.h"

namespace stackmap {

namespace {

std::string speedscope(const Profile& profile, const FormatOptions& options = {},
                       std::vector<std::string>* notes = nullptr) {
  return test::written([&](TextWriter& out) {
    const std::vector<std::string> said = find_format("speedscope")->write(profile, options, out);
    if (notes != nullptr) {
      *notes = said;
    }
  });
}

}  // namespace

TEST_CASE("a profile for each column, over one list of frames", "[speedscope]") {
  Profile profile = test::bytes_profile();
  profile.title = "w";
  test::add_stack(profile, {"bash", "entry", "kmalloc"}, (uint64_t{1} << 40) + 4096, 2);
  test::add_stack(profile, {"make", "entry"}, 0, 3);
  profile.add({}, std::vector<uint64_t>{5, 1});
  std::vector<std::string> notes;
  CHECK(speedscope(profile, {.kernel_names = KernelNames::kSuffixed}, &notes) ==
        R"({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"stackmap","name":"w",)"
        R"("activeProfileIndex":0,
"shared":{"frames":[
{"name":"bash"},
{"name":"entry_[k]"},
{"name":"kmalloc_[k]"},
{"name":"make"}
]},"profiles":[
{"type":"sampled","name":"bytes","unit":"bytes","startValue":0,"endValue":1099511631877,"samples":[
[0,1,2],
[]
],"weights":[
1099511631872,
5
]},
{"type":"sampled","name":"count","unit":"none","startValue":0,"endValue":6,"samples":[
[0,1,2],
[3,1],
[]
],"weights":[
2,
3,
1
]}
]}
)");
  CHECK(notes == std::vector<std::string>{"stacks that weigh nothing, left out: 1"});
}

TEST_CASE("names are JSON whatever they hold, and none is empty", "[speedscope]") {
  Profile profile;
  profile.title = "\xff\"";
  for (const std::string& name : test::nasty_names()) {
    test::add_stack(profile, {name, name}, 1);
  }
  const std::string text = speedscope(profile);
  CHECK(is_utf8(text));
  CHECK(text.find(R"("name":"\\xff\"")") != std::string::npos);
  CHECK(text.find(R"({"name":"bad\\xff\\xfeutf8"})") != std::string::npos);
  CHECK(text.find(R"({"name":"[empty]"})") != std::string::npos);
  CHECK(text.find(R"({"name":"<>&\"'"})") != std::string::npos);
  CHECK(text.find(R"("name":"")") == std::string::npos);
  for (const char c : text) {
    REQUIRE((static_cast<unsigned char>(c) >= 0x20 || c == '\n'));
  }
}

TEST_CASE("weights that binary64 cannot hold are written whole and noted", "[speedscope]") {
  Profile profile;
  test::add_stack(profile, {"t", "f"}, (uint64_t{1} << 53) + 1);
  std::vector<std::string> notes;
  CHECK(speedscope(profile, {}, &notes).find("\n9007199254740993\n") != std::string::npos);
  CHECK(notes.size() == 1);
}

}  // namespace stackmap
