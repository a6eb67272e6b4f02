// SPDX-License-Identifier: Apache-2.0
#include "capture/segment_names.h"

#include "support/catch.h"
#include "support/temp_tree.h"

using namespace stackmap;

namespace {

// "BASE NUMBER" of a path, "none" if it is no segment's.
std::string parsed(std::string_view path) {
  const auto name = parse_segment_path(path);
  return name ? std::string(name->base) + " " + std::to_string(name->number) : "none";
}

}  // namespace

TEST_CASE("a segment's path has its number in six digits or more, and is read back", "[segment_names]") {
  CHECK(segment_path("w", 1) == "w-000001.smc");
  CHECK(segment_path("dir/w-x", 123456) == "dir/w-x-123456.smc");
  CHECK(segment_path("w", 1234567) == "w-1234567.smc");
  for (const uint64_t number : {uint64_t{1}, uint64_t{999999}, uint64_t{1000000}, ~uint64_t{0}}) {
    CHECK(parsed(segment_path("dir/w", number)) == "dir/w " + std::to_string(number));
  }
}

TEST_CASE("the last number counts, whatever stands before it", "[segment_names]") {
  CHECK(parsed("w-000001-000002.smc") == "w-000001 2");
  CHECK(parsed("a-000001/w-000007.smc") == "a-000001/w 7");
  CHECK(parsed("-000003.smc") == " 3");
}

TEST_CASE("what is not called as a segment is none", "[segment_names]") {
  for (const std::string_view path : {"", "w", "w.smc", "w-1.smc", "w-00001.smc", "w-000000.smc", "w-0000001.smc",
                                      "w-000001.map", "w-000001", "w000001.smc", "w-00000x.smc", "w- 00001.smc",
                                      "w-+00001.smc", "w-99999999999999999999.smc", "w-000001/x.smc"}) {
    CHECK(parsed(path) == "none");
  }
}

TEST_CASE("the segments of a name are found in order, and no others", "[segment_names]") {
  const TempTree tree;
  for (const char* file : {"w-1000000.smc", "w-000002.smc", "w-000001.smc", "w-000003.map", "w-04.smc", "x-000005.smc",
                           "w-x-000006.smc", "w.smc"}) {
    (void)tree.write(file, "");
  }
  CHECK(find_segments(tree.path("w")) == std::vector<uint64_t>{1, 2, 1000000});
  CHECK(find_segments(tree.path("w-x")) == std::vector<uint64_t>{6});
  CHECK(find_segments(tree.path("none")).empty());
  CHECK(find_segments(tree.path("no/folder")).empty());
}
