// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/bytes.h"
#include "support/catch.h"

using namespace stackmap;

namespace {

struct Directory {
  std::string path = "/tmp/stackmap_file_test.XXXXXX";
  Directory() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~Directory() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string& name) const { return path + "/" + name; }
  size_t entries() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path), {})); }
};

}  // namespace

TEST_CASE("a new file is refused where one is, and replaced where that is asked for") {
  const Directory dir;
  {
    auto file = create_file(dir / "a", Create::kNew);
    REQUIRE(file);
    REQUIRE((*file)->append(std::string_view("hello")));
  }
  const auto again = create_file(dir / "a", Create::kNew);
  REQUIRE_FALSE(again);
  CHECK(again.error().kind == ErrorKind::kExists);
  CHECK(*read_text_file(dir / "a") == "hello");
  REQUIRE(create_file(dir / "a", Create::kReplace));
  CHECK(read_text_file(dir / "a")->empty());
}

TEST_CASE("a new file has a name once it has bytes, so that a crash leaves no empty one") {
  const Directory dir;
  {
    auto file = create_file(dir / "a", Create::kNew);
    REQUIRE(file);
    CHECK(dir.entries() == 0);
  }
  CHECK(dir.entries() == 0);
  auto file = create_file(dir / "a", Create::kNew);
  auto other = create_file(dir / "a", Create::kNew);
  REQUIRE((*file)->append(std::string_view("first")));
  CHECK(*read_text_file(dir / "a") == "first");
  const auto second = (*other)->append(std::string_view("second"));
  REQUIRE_FALSE(second);
  CHECK(second.error().kind == ErrorKind::kExists);
  CHECK(*read_text_file(dir / "a") == "first");
}

TEST_CASE("a full disk is an error with its reason") {
  const auto full = create_file("/dev/full", Create::kReplace);
  REQUIRE(full);
  const auto written = (*full)->append(std::string_view("x"));
  REQUIRE_FALSE(written);
  CHECK(written.error().errnum == ENOSPC);
  CHECK(written.error().message() == "cannot write /dev/full: No space left on device");
}

TEST_CASE("a cut file goes on at the cut") {
  const Directory dir;
  auto file = create_file(dir / "a", Create::kNew);
  REQUIRE((*file)->append(std::string_view("0123456789")));
  REQUIRE((*file)->truncate(4));
  REQUIRE((*file)->append(std::string_view("x")));
  CHECK(*read_text_file(dir / "a") == "0123x");
}

TEST_CASE("a replaced file is the old one until it is the whole new one") {
  const Directory dir;
  REQUIRE((*create_file(dir / "a", Create::kNew))->append(std::string_view("old")));
  {
    auto dropped = ReplacingFile::create(dir / "a");
    REQUIRE(dropped->file().append(std::string_view("half")));
  }
  CHECK(*read_text_file(dir / "a") == "old");
  CHECK(dir.entries() == 1);
  auto kept = ReplacingFile::create(dir / "a");
  REQUIRE(kept->file().append(std::string_view("new")));
  CHECK(*read_text_file(dir / "a") == "old");
  REQUIRE(kept->commit());
  CHECK(*read_text_file(dir / "a") == "new");
  CHECK(dir.entries() == 1);
}

TEST_CASE("a text writer reports the first failure at its flush") {
  const auto full = create_file("/dev/full", Create::kReplace);
  TextWriter writer(**full);
  writer.write(std::string(1 << 20, 'x'));
  writer.write("more");
  CHECK(writer.failed());
  const auto flushed = writer.flush();
  REQUIRE_FALSE(flushed);
  CHECK(flushed.error().errnum == ENOSPC);
}

TEST_CASE("whole writes go through a pipe that takes them in pieces") {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const std::string sent(300000, 'y');
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipe[0]);
    ::_exit(write_all(pipe[1], bytes_of(sent), "pipe") ? 0 : 1);
  }
  ::close(pipe[1]);
  const auto received = read_text_fd(pipe[0], "pipe");
  ::close(pipe[0]);
  REQUIRE(received);
  CHECK(*received == sent);
}

TEST_CASE("a file larger than the limit, a folder, and a missing file are errors") {
  const Directory dir;
  REQUIRE((*create_file(dir / "a", Create::kNew))->append(std::string_view("0123456789")));
  CHECK_FALSE(read_text_file(dir / "a", 5));
  CHECK(open_file(dir.path).error().errnum == EISDIR);
  CHECK(open_file(dir / "b").error().kind == ErrorKind::kNotFound);
}
