// SPDX-License-Identifier: Apache-2.0
#include "store/segment_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "capture/capture.h"
#include "capture/map_file.h"

namespace stackmap {

namespace {

constexpr uint64_t kPage = 4096;

uint64_t pages(uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

uint64_t size_of(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 ? static_cast<uint64_t>(st.st_size) : 0;
}

}  // namespace

// A file whose bytes are charged to a segment before they are written.
class SegmentFiles::ChargedFile final : public WritableFile {
 public:
  // Leaves `spare` bytes of the bound to others.
  ChargedFile(SegmentFiles& owner, uint64_t number, std::unique_ptr<WritableFile> owned, WritableFile& file,
              uint64_t spare)
      : owner_(owner), number_(number), owned_(std::move(owned)), file_(file), spare_(spare) {}

  Result<void> append(std::span<const std::byte> bytes) override {
    STACKMAP_TRY(owner_.charge(number_, pages(size_ + bytes.size()) - pages(size_), spare_));
    size_ += bytes.size();
    return file_.append(bytes);
  }
  Result<void> truncate(uint64_t size) override {
    STACKMAP_TRY(file_.truncate(size));
    owner_.release(number_, pages(size_) - pages(std::min(size, size_)));
    size_ = std::min(size, size_);
    return {};
  }
  Result<void> sync() override { return file_.sync(); }
  const std::string& name() const override { return file_.name(); }
  uint64_t charged() const { return pages(size_); }

 private:
  SegmentFiles& owner_;
  uint64_t number_;
  std::unique_ptr<WritableFile> owned_;
  WritableFile& file_;
  uint64_t spare_;
  uint64_t size_ = 0;
};

SegmentFiles::SegmentFiles(SegmentOptions options, std::function<void(const std::string&)> note)
    : options_(std::move(options)), note_(std::move(note)) {
  for (const uint64_t number : find_segments(options_.base)) {
    const uint64_t bytes = pages(size_of(path(number, ".smc"))) + pages(size_of(path(number, ".map")));
    entries_.push_back({number, bytes, false});
    used_ += bytes;
    last_ = number;
  }
  worker_ = std::jthread([this](const std::stop_token& stop) { write_maps(stop); });
}

SegmentFiles::~SegmentFiles() {
  finish();
}

Result<std::unique_ptr<SegmentFiles>> SegmentFiles::create(SegmentOptions options,
                                                           std::function<void(const std::string&)> note) {
  if (options.max_bytes != 0) {
    if (options.max_bytes < kMinDisk) {
      return make_error(ErrorKind::kUsage,
                        "a bound of less than " + human_size(kMinDisk) + " on the disk is not possible");
    }
    // Room for the segment that is written, the one that is mapped, its map file, and some that are kept.
    if (options.rotate_bytes == 0) {
      options.rotate_bytes = options.max_bytes / 8;
    }
    if (options.rotate_bytes > options.max_bytes / 4) {
      return make_error(ErrorKind::kUsage,
                        "segments must be at most a quarter of what all of them may take on the disk",
                        "give a smaller --rotate-size or a larger --max-disk");
    }
  }
  if (options.rotate_bytes != 0 && options.rotate_bytes < kMinSegment) {
    return make_error(ErrorKind::kUsage, "segments of less than " + human_size(kMinSegment) + " are not possible");
  }
  return std::unique_ptr<SegmentFiles>(new SegmentFiles(std::move(options), std::move(note)));
}

std::string SegmentFiles::path(uint64_t number, const char* suffix) const {
  std::string path = segment_path(options_.base, number);
  return path.replace(path.size() - 4, 4, suffix);
}

bool SegmentFiles::is_full(uint64_t bytes, uint64_t age_ns) const {
  return (options_.rotate_bytes != 0 && bytes >= options_.rotate_bytes) ||
         (options_.rotate_ns != 0 && age_ns >= options_.rotate_ns);
}

// Under mutex_. False if there is none that could go.
bool SegmentFiles::remove_oldest() {
  const auto oldest = std::ranges::find(entries_, false, &Entry::busy);
  if (oldest == entries_.end()) {
    return false;
  }
  for (const char* suffix : {".map", ".smc"}) {
    const std::string file = path(oldest->number, suffix);
    if (::unlink(file.c_str()) != 0 && errno != ENOENT) {
      note_(errno_error("cannot remove " + file + ", which is to make room").message());
      return false;
    }
  }
  used_ -= oldest->bytes;
  ++removed_;
  entries_.erase(oldest);
  return true;
}

// Under mutex_: as many as are kept, less `more` that are to come.
void SegmentFiles::keep_newest(size_t more) {
  while (options_.keep != 0 && entries_.size() + more > options_.keep && remove_oldest()) {
  }
}

Result<void> SegmentFiles::charge(uint64_t number, uint64_t bytes, uint64_t spare) {
  const std::lock_guard lock(mutex_);
  while (options_.max_bytes != 0 && used_ + bytes + spare > options_.max_bytes) {
    if (!remove_oldest()) {
      return errno_error_of(EDQUOT, fmt::format("segment {} does not fit the {} that --max-disk allows", number,
                                                human_size(options_.max_bytes)));
    }
  }
  used_ += bytes;
  std::ranges::find(entries_, number, &Entry::number)->bytes += bytes;
  return {};
}

void SegmentFiles::release(uint64_t number, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
  std::ranges::find(entries_, number, &Entry::number)->bytes -= bytes;
}

Result<std::unique_ptr<WritableFile>> SegmentFiles::open_next() {
  const uint64_t number = last_ + 1;
  {
    const std::lock_guard lock(mutex_);
    keep_newest(1);
    entries_.push_back({number, 0, true});
  }
  auto file = create_file(path(number, ".smc"), Create::kNew);
  if (!file) {
    const std::lock_guard lock(mutex_);
    entries_.pop_back();
    return std::move(file).error();
  }
  last_ = number;
  ++opened_;
  WritableFile& inner = **file;
  return syncer_.wrap(std::make_unique<ChargedFile>(*this, number, std::move(file).value(), inner, 0));
}

void SegmentFiles::complete(uint64_t number) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(number);
  changed_.notify_all();
}

void SegmentFiles::abandon() {
  const std::lock_guard lock(mutex_);
  (void)::unlink(path(last_, ".smc").c_str());  // what cannot be removed is a capture without an end
  const auto entry = std::ranges::find(entries_, last_, &Entry::number);
  used_ -= entry->bytes;
  entries_.erase(entry);
}

void SegmentFiles::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty(); });
}

uint64_t SegmentFiles::disk_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

uint64_t SegmentFiles::removed() const {
  const std::lock_guard lock(mutex_);
  return removed_;
}

Result<void> SegmentFiles::write_map(uint64_t number) {
  STACKMAP_TRY_VALUE(capture, Capture::open(path(number, ".smc")));
  STACKMAP_TRY_VALUE(replacing, ReplacingFile::create(path(number, ".map")));
  // The segment that is being written must never fail for want of the room that a map file takes.
  ChargedFile file(*this, number, nullptr, replacing.file(), 2 * options_.rotate_bytes);
  TextWriter text(file);
  auto written = write_map_text(capture, text);
  if (written) {
    written = text.flush();
  }
  if (written) {
    written = replacing.commit();
  }
  if (!written) {
    release(number, file.charged());
  }
  return written;
}

void SegmentFiles::write_maps(const std::stop_token& stop) {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [&] { return !queue_.empty(); })) {
      return;
    }
    const uint64_t number = queue_.front();
    lock.unlock();
    // What is removed to make room must be closed. It is on the disk before its map file is.
    if (auto synced = syncer_.wait(); !synced) {
      note_(fmt::format("segment {} may not outlive a power cut: {}", number, synced.error().message()));
    }
    if (auto written = write_map(number); !written) {
      note_(fmt::format("segment {} has no map file: {}; 'stackmap map' makes one", number, written.error().message()));
    }
    lock.lock();
    std::ranges::find(entries_, number, &Entry::number)->busy = false;
    queue_.pop_front();
    keep_newest(0);
    changed_.notify_all();
  }
}

}  // namespace stackmap
