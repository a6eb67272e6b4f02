// SPDX-License-Identifier: Apache-2.0
#include "process/host.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>

#include "base/bytes.h"
#include "support/catch.h"
#include "support/temp_tree.h"

using namespace stackmap;

namespace {

// A note as ELF lays it out: both parts padded to four bytes.
std::string note(uint32_t type, std::string name, std::string contents) {
  std::string bytes;
  ByteWriter out(bytes);
  out.fixed(static_cast<uint32_t>(name.size()));
  out.fixed(static_cast<uint32_t>(contents.size()));
  out.fixed(type);
  name.resize((name.size() + 3) / 4 * 4);
  contents.resize((contents.size() + 3) / 4 * 4);
  return bytes + name + contents;
}

std::string gnu(const std::string& id) {
  return note(3, std::string("GNU\0", 4), id);
}

const std::string kId("\x85\xc7\xe4\xe2\x00\x76\xf4\x41", 8);
const std::string kHex = "85c7e4e20076f441";

}  // namespace

TEST_CASE("the build-id is the first GNU note of type 3") {
  CHECK(find_build_id(gnu(kId)) == kHex);
  CHECK(find_build_id(note(0x101, std::string("Linux\0", 6), "abcde") + gnu(kId) + gnu("other")) == kHex);
  CHECK(find_build_id(note(1, std::string("GNU\0", 4), "abi!") + gnu(kId)) == kHex);  // another type of the same name
  CHECK(find_build_id(note(3, std::string("GNV\0", 4), "id") + gnu(kId)) == kHex);    // another name, the same type
  CHECK(find_build_id(note(3, "GNU", "id") + gnu(kId)) == kHex);                      // a name that does not end
  CHECK(find_build_id(note(9, "", "") + gnu(kId)) == kHex);
}

TEST_CASE("a build-id is read byte by byte as the file has it") {
  // Written out by hand: sizes 4 and 3, type 3, "GNU", three bytes and one of padding.
  static constexpr std::array<unsigned char, 20> kNote = {4, 0, 0,   0,   3,   0, 0,    0,    3,    0,
                                                          0, 0, 'G', 'N', 'U', 0, 0xab, 0x0c, 0xff, 0};
  const std::string bytes(kNote.begin(), kNote.end());
  CHECK(find_build_id(bytes) == "ab0cff");
  CHECK(find_build_id(bytes.substr(0, 19)) == "ab0cff");  // the last padding may be missing
}

TEST_CASE("damaged notes have no build-id") {
  const std::string whole = note(5, "abcde", "123456789") + gnu(kId);
  for (size_t n = 0; n < whole.size(); ++n) {
    INFO(n);
    CHECK(find_build_id(std::string_view(whole).substr(0, n)).empty());
  }
  CHECK(find_build_id(std::string(64, '\xff')).empty());
  CHECK(find_build_id(std::string(4096, '\0')).empty());
  std::string huge = gnu(kId);
  huge.replace(4, 4, "\xfc\xff\xff\xff");  // contents that reach far past the end
  CHECK(find_build_id(huge).empty());
  huge = gnu(kId);
  huge.replace(0, 4, "\xff\xff\xff\xff");
  CHECK(find_build_id(huge).empty());
}

TEST_CASE("host facts come from /proc and /sys") {
  const TempTree tree;
  tree.write("proc/sys/kernel/random/boot_id", "0f7b1a52-3f5e-4d60-8d6c-0123456789ab\n");
  tree.write("sys/kernel/notes", gnu(kId));
  tree.write("sys/devices/system/cpu/possible", "0-3,8-11\n");
  const auto info = read_host_info(tree.root());
  REQUIRE(info.ok());
  CHECK(info->boot_id == "0f7b1a52-3f5e-4d60-8d6c-0123456789ab");
  CHECK(info->kernel_build_id == kHex);
  CHECK(info->cpus_possible == 12);
  utsname names{};
  REQUIRE(uname(&names) == 0);
  CHECK(info->kernel_release == names.release);
  CHECK(info->kernel_version == names.version);
  CHECK(info->machine == names.machine);
  CHECK(info->page_size == static_cast<uint32_t>(getpagesize()));
}

TEST_CASE("CPU lists: the highest number counts") {
  struct Case {
    const char* list;
    uint32_t limit;
  };
  const auto [list, limit] = GENERATE(Case{"0\n", 1}, Case{"0-1\n", 2}, Case{"0,2,5\n", 6}, Case{"8-11,0-3\n", 12},
                                      Case{"0-127", 128}, Case{"4096\n", 4097});
  const TempTree tree;
  tree.write("sys/devices/system/cpu/possible", list);
  CHECK(read_host_info(tree.root())->cpus_possible == limit);
}

TEST_CASE("what is missing or damaged is left empty, and CPUs are asked of libc") {
  const TempTree tree;
  const char* list = GENERATE("", "\n", "0-", "0-3,", "a", "0-3 8", "4294967295", "-1", "99999999999999999999");
  tree.write("sys/devices/system/cpu/possible", list);
  tree.write("sys/kernel/notes", "garbage");
  const auto info = read_host_info(tree.root());
  REQUIRE(info.ok());
  CHECK(info->boot_id.empty());
  CHECK(info->kernel_build_id.empty());
  CHECK(info->cpus_possible == static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_CONF)));
}
