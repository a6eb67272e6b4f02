// SPDX-License-Identifier: Apache-2.0
#include "render/format.h"

#include <set>

#include "support/catch.h"
#include "support/faulty_file.h"
#include "support/report_fixture.h"

namespace stackmap {

TEST_CASE("every format has a name of its own, and the default is folded", "[format]") {
  std::set<std::string_view> names;
  for (const Format* format : formats()) {
    CHECK(names.insert(format->name).second);
    CHECK(find_format(format->name) == format);
  }
  CHECK(formats().front()->name == "folded");
  CHECK(find_format("nope") == nullptr);
}

TEST_CASE("every format writes any profile, and a failed write is reported at flush", "[format]") {
  Profile nasty = test::bytes_profile();
  for (const std::string& name : test::nasty_names()) {
    test::add_stack(nasty, {name, name}, ~uint64_t{0});
  }
  const Profile empty;
  for (const Format* format : formats()) {
    CAPTURE(format->name);
    for (const Profile* profile : std::initializer_list<const Profile*>{&nasty, &empty}) {
      stackmap_test::FaultyFile file = stackmap_test::full_file();
      TextWriter out(file);
      format->write(*profile, {}, out);
      out.write("the end");
      CHECK_FALSE(out.flush().ok());
    }
  }
}

}  // namespace stackmap
