// SPDX-License-Identifier: Apache-2.0
#include "store/segment_files.h"

#include <fcntl.h>

#include <filesystem>
#include <mutex>

#include "base/fd.h"
#include "capture/capture_writer.h"
#include "capture/map_file.h"
#include "support/catch.h"
#include "support/temp_tree.h"

using namespace stackmap;
namespace fs = std::filesystem;

namespace {

struct Notes {
  std::mutex mutex;
  std::vector<std::string> texts;
  std::function<void(const std::string&)> sink() {
    return [this](const std::string& text) {
      const std::lock_guard lock(mutex);
      texts.push_back(text);
    };
  }
};

std::unique_ptr<SegmentFiles> make(const SegmentOptions& options, Notes& notes) {
  auto files = SegmentFiles::create(options, notes.sink());
  REQUIRE(files);
  return std::move(files).value();
}

uint64_t on_disk(const std::string& directory) {
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(directory)) {
    bytes += (entry.file_size() + 4095) / 4096 * 4096;
  }
  return bytes;
}

// A whole capture of `stacks` stacks, each of ten frames without names.
Result<void> write_capture(std::unique_ptr<WritableFile> file, uint32_t stacks) {
  STACKMAP_TRY_VALUE(writer, CaptureWriter::create(std::move(file), {}, known_event_types(), {}));
  for (uint32_t slot = 0; slot < stacks; ++slot) {
    std::vector<uint64_t> frames(10, uint64_t{slot} * 0x9e3779b97f4a7c15U);
    writer->add_stack(Cookie(1, slot), frames);
  }
  return writer->close({});
}

}  // namespace

TEST_CASE("segments are numbered, and each gets its map file") {
  const TempTree tree;
  Notes notes;
  const auto files = make({tree.path("w"), 1 << 20, 0, 0, 0}, notes);
  for (uint32_t i = 1; i <= 3; ++i) {
    auto file = files->open_next();
    REQUIRE(file);
    CHECK(files->segment() == i);
    if (i > 1) {
      files->close_previous();
    }
    REQUIRE(write_capture(std::move(file).value(), i));
  }
  files->close_last();
  files->finish();
  CHECK(find_segments(tree.path("w")) == std::vector<uint64_t>{1, 2, 3});
  for (uint32_t i = 1; i <= 3; ++i) {
    const std::string name = tree.path("w-00000" + std::to_string(i) + ".map");
    const auto map = parse_map_file(read_text_file(name).value(), name);
    REQUIRE(map);
    CHECK(map->size() == i);
  }
  CHECK(files->disk_bytes() == on_disk(tree.root()));
  CHECK(notes.texts.empty());
}

TEST_CASE("no more are kept than asked for, and older recordings of the name go first") {
  const TempTree tree;
  (void)tree.write("w-000041.smc", "old");
  (void)tree.write("w-000041.map", "old");
  (void)tree.write("w-000042.smc", "old");
  (void)tree.write("other-000001.smc", "not of this name");
  (void)tree.write("w-12.smc", "nor this");
  Notes notes;
  const auto files = make({tree.path("w"), 1 << 20, 0, 3, 0}, notes);
  for (uint64_t i = 43; i <= 50; ++i) {
    auto file = files->open_next();
    REQUIRE(file);
    CHECK(files->segment() == i);
    if (i > 43) {
      files->close_previous();
      files->finish();
    }
    CHECK(find_segments(tree.path("w")).size() <= 3);
    REQUIRE(write_capture(std::move(file).value(), 1));
  }
  files->close_last();
  files->finish();
  CHECK(find_segments(tree.path("w")) == std::vector<uint64_t>{48, 49, 50});
  CHECK_FALSE(fs::exists(tree.path("w-000041.map")));
  CHECK(fs::exists(tree.path("other-000001.smc")));
  CHECK(fs::exists(tree.path("w-12.smc")));
  CHECK(files->removed() == 7);
}

TEST_CASE("the bytes on the disk never exceed the bound") {
  const TempTree tree;
  Notes notes;
  const uint64_t limit = 2 << 20;
  const auto files = make({tree.path("w"), 256 << 10, 0, 0, limit}, notes);
  for (int i = 0; i < 40; ++i) {
    auto file = files->open_next();
    REQUIRE(file);
    if (i > 0) {
      files->close_previous();
    }
    // As much as a segment may have, in pieces; and looked at from outside after each.
    for (uint64_t bytes = 0; !files->is_full(bytes, 0); bytes += 10000) {
      REQUIRE((*file)->append(std::string(10000, 'x')));
      REQUIRE(on_disk(tree.root()) <= limit);
    }
  }
  files->close_last();
  files->finish();
  CHECK(files->disk_bytes() == on_disk(tree.root()));
  CHECK(files->removed() > 30);
  // What is no capture has no map file, and that is said.
  CHECK(notes.texts.size() == 40);
}

TEST_CASE("a map file never takes the room of the segment that is being written") {
  const TempTree tree;
  Notes notes;
  const uint64_t limit = 1 << 20;
  const auto files = make({tree.path("w"), 128 << 10, 0, 0, limit}, notes);
  // 16,000 stacks of ten frames are a map file of some 4 MB: it cannot be there.
  REQUIRE(write_capture(files->open_next().value(), 16000));
  auto next = files->open_next().value();
  files->close_previous();
  files->finish();
  REQUIRE(notes.texts.size() == 1);
  CHECK(notes.texts[0].find("has no map file") != std::string::npos);
  CHECK_FALSE(fs::exists(tree.path("w-000001.map")));
  REQUIRE(next->append(std::string(256 << 10, 'x')));
  CHECK(on_disk(tree.root()) <= limit);
  CHECK(files->disk_bytes() == on_disk(tree.root()));
}

TEST_CASE("one segment that outgrows the bound fails with a reason") {
  const TempTree tree;
  Notes notes;
  const auto files = make({tree.path("w"), 0, 0, 0, 1 << 20}, notes);
  auto file = files->open_next().value();
  const auto written = file->append(std::string(2 << 20, 'x'));
  REQUIRE_FALSE(written);
  CHECK(written.error().message().find("--max-disk") != std::string::npos);
  CHECK(on_disk(tree.root()) == 0);
}

TEST_CASE("a segment ends at its size or its age") {
  const TempTree tree;
  Notes notes;
  const auto files = make({tree.path("w"), 1000000, 5000, 0, 0}, notes);
  CHECK_FALSE(files->is_full(999999, 4999));
  CHECK(files->is_full(1000000, 0));
  CHECK(files->is_full(0, 5000));
  const auto bounded = make({tree.path("v"), 0, 0, 0, 8 << 20}, notes);
  CHECK(bounded->is_full(1 << 20, 0));
  CHECK_FALSE(bounded->is_full((1 << 20) - 1, uint64_t{1} << 60));
}

TEST_CASE("bounds that cannot be kept are refused") {
  Notes notes;
  CHECK_FALSE(SegmentFiles::create({"/nowhere/w", 1 << 20, 0, 0, 2 << 20}, notes.sink()));
  CHECK_FALSE(SegmentFiles::create({"/nowhere/w", 0, 0, 0, 1000}, notes.sink()));
  CHECK_FALSE(SegmentFiles::create({"/nowhere/w", 1000, 0, 0, 0}, notes.sink()));
  const auto files = make({"/nowhere/w", 1 << 20, 0, 0, 0}, notes);
  const auto file = files->open_next();
  REQUIRE_FALSE(file);
  CHECK(file.error().kind == ErrorKind::kNotFound);
}

TEST_CASE("a capture that could not be made leaves nothing") {
  const TempTree tree;
  Notes notes;
  const auto files = make({tree.path("w"), 1 << 20, 0, 0, 0}, notes);
  auto file = files->open_next().value();
  REQUIRE(file->append(std::string("half")));
  files->abandon();
  files->finish();
  CHECK(on_disk(tree.root()) == 0);
  CHECK(files->disk_bytes() == 0);
}
