// SPDX-License-Identifier: Apache-2.0
#include "store/snapshot_writer.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "capture/capture.h"
#include "capture/capture_writer.h"
#include "capture/copy_capture.h"

namespace stackmap {

Result<std::unique_ptr<SnapshotWriter>> SnapshotWriter::create(SegmentFiles& files) {
  std::unique_ptr<SnapshotWriter> writer(new SnapshotWriter(files));
  writer->done_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!writer->done_.valid()) {
    return errno_error("cannot open an eventfd");
  }
  return writer;
}

Result<SnapshotDone> SnapshotWriter::write(SegmentFiles& files, std::vector<std::unique_ptr<ReadableFile>> segments,
                                           uint64_t from_ns, uint64_t to_ns) {
  STACKMAP_TRY_VALUE(held, Capture::open(std::move(segments)));
  STACKMAP_TRY_VALUE(file, files.open_next());
  SnapshotDone done;
  done.path = file->name();
  const auto copy = [&]() -> Result<void> {
    CopyOptions options;
    options.from_ns = from_ns;
    options.to_ns = to_ns;
    options.count_damage = false;  // what has been dropped was to be
    STACKMAP_TRY_VALUE(to, CaptureWriter::create(std::move(file), copy_info(held, options), held.event_types(),
                                                 copy_writer_options()));
    STACKMAP_TRY_VALUE(totals, copy_capture(held, *to, options));
    done.events = totals.events;
    return {};
  };
  auto copied = copy();
  if (!copied) {
    files.abandon();
    return std::move(copied).error();
  }
  files.close_last();
  return done;
}

SnapshotWriter::~SnapshotWriter() {
  if (worker_.joinable()) {
    worker_.join();
  }
}

void SnapshotWriter::start(std::vector<std::unique_ptr<ReadableFile>> segments, uint64_t from_ns, uint64_t to_ns) {
  worker_ = std::thread([this, from_ns, to_ns, segments = std::move(segments)]() mutable {
    result_ = write(files_, std::move(segments), from_ns, to_ns);
    const uint64_t one = 1;
    (void)!::write(done_.get(), &one, sizeof(one));
  });
}

Result<SnapshotDone> SnapshotWriter::finish() {
  worker_.join();
  uint64_t count = 0;
  (void)!::read(done_.get(), &count, sizeof(count));
  return std::exchange(result_, std::nullopt).value();
}

}  // namespace stackmap
