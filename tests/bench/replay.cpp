// SPDX-License-Identifier: Apache-2.0
// stackmap_replay HOURS EVENTS-A-SECOND DIRECTORY: so many hours of made-up ring records, as fast as they can be taken,
// through decoder, stack map and recorder into segments of an hour on a bounded disk. Threads come and go with ever new
// numbers, and new stacks and file names turn up all the time: what must stay flat is the recorder's memory and what is
// on the disk.
//
// Prints both at each twelfth of the time. Fails if the memory at the end is above that at the middle by more than a
// tenth and a megabyte, or if the disk bound was exceeded at any look.
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>

#include "base/log.h"
#include "base/text.h"
#include "base/usage.h"
#include "recorder/recorder.h"
#include "store/segment_files.h"
#include "support/record_builder.h"

using namespace stackmap;
using stackmap_test::RecordBuilder;

namespace {

constexpr uint64_t kSecond = 1000000000;
constexpr uint64_t kHour = 3600 * kSecond;
constexpr uint64_t kDiskBound = uint64_t{64} << 20;
constexpr uint64_t kSegmentBytes = uint64_t{8} << 20;

class Namer final : public KernelNamer {
 public:
  Result<std::vector<KernelSymbol>> name(std::span<const uint64_t> addresses, AddressKind) override {
    std::vector<KernelSymbol> symbols;
    for (const uint64_t address : addresses) {
      symbols.push_back({fmt::format("function_{:x}", address >> 8), address & 0xff, 256, ""});
    }
    return symbols;
  }
  std::string source() const override { return "replay"; }
};

// The records, by chance from a fixed seed.
class Source {
 public:
  std::string next(uint64_t time_ns) {
    const uint64_t number = count_++;
    if (number % 1000 == 0) {
      return life(time_ns);
    }
    RecordBuilder builder(STACKMAP_KMEM_CACHE_ALLOC);
    const uint32_t tid = tids_[random_() % tids_.size()];
    const std::array<const char*, 4> caches = {"filp", "dentry", "seq_file", "kmalloc-64"};
    return builder.fields(stackmap_alloc_fields{0xffff888000000000 + (random_() % 100000) * 64, 200, 256, 0xcc0, -1})
        .at(time_ns, tid, tid)
        .string(caches[random_() % caches.size()])
        .stack(stack())
        .bytes();
  }

 private:
  // In turn: a thread begins, it execs a file that nobody has run before, and the one whose place it took ends.
  std::string life(uint64_t time_ns) {
    const int what = static_cast<int>(lives_++ % 3);
    if (what == 0) {
      uint32_t& place = tids_[random_() % tids_.size()];
      ending_ = place;
      beginning_ = place = next_tid_++;
    }
    const uint32_t old = what == 1 ? beginning_ : ending_;
    stackmap_task_fields fields{};
    fields.tid = what == 0 ? beginning_ : old;
    fields.tgid = fields.tid;
    std::snprintf(fields.comm, sizeof(fields.comm), "task-%u", fields.tid % 100000);
    const uint8_t kinds[] = {STACKMAP_SCHED_PROCESS_FORK, STACKMAP_SCHED_PROCESS_EXEC, STACKMAP_SCHED_PROCESS_EXIT};
    RecordBuilder builder(kinds[what]);
    builder.fields(fields).at(time_ns, old, old);
    if (what == 1) {
      builder.string(fmt::format("/usr/bin/file-{}", count_));
    }
    return builder.stack(stack()).bytes();
  }

  // One of a few hundred, and now and then one that has never been.
  std::vector<uint64_t> stack() {
    const uint64_t which = random_() % 1000 == 0 ? 1000 + count_ : random_() % 300;
    std::vector<uint64_t> frames;
    for (uint64_t i = 0; i < 10; ++i) {
      frames.push_back(0xffffffff81000000 + (which * 7 + i * 1013) % 2000000 * 16);
    }
    return frames;
  }

  std::mt19937_64 random_{1};
  std::vector<uint32_t> tids_ = [] {
    std::vector<uint32_t> tids(200);
    std::iota(tids.begin(), tids.end(), 1000U);
    return tids;
  }();
  uint32_t next_tid_ = 2000;
  uint32_t beginning_ = 0;
  uint32_t ending_ = 0;
  uint64_t lives_ = 0;
  uint64_t count_ = 0;
};

Result<void> replay(uint64_t hours, uint64_t rate, const std::string& directory) {
  const std::string base = directory + "/replay";
  STACKMAP_TRY_VALUE(files, SegmentFiles::create({base, kSegmentBytes, kHour, 0, kDiskBound},
                                                 [](const std::string& text) { log_warning(text); }));
  STACKMAP_TRY_VALUE(map, StackMap::create({}));
  Namer namer;
  Recorder::Options options;
  options.namer = &namer;
  const auto types = Recorder::event_types({});
  const auto open = [&]() -> Result<std::unique_ptr<CaptureWriter>> {
    STACKMAP_TRY_VALUE(file, files->open_next());
    return CaptureWriter::create(std::move(file), {}, types, {});
  };
  STACKMAP_TRY_VALUE(writer, open());
  Recorder recorder(std::move(options), *map, *writer);
  Source source;
  const uint64_t end = hours * kHour;
  const uint64_t step = kSecond / rate;
  uint64_t began = 0, middle = 0, last = 0, most_disk = 0;
  uint64_t next_flush = kSecond, next_look = 0;
  for (uint64_t time = 0; time < end; time += step) {
    recorder.lane(0).on_record(bytes_of(source.next(time)), static_cast<uint32_t>(time / step % 2));
    if (time >= next_flush) {
      next_flush += kSecond;
      STACKMAP_TRY(recorder.flush({}));
      most_disk = std::max(most_disk, files->disk_bytes());
      if (files->is_full(writer->bytes_written(), time - began)) {
        STACKMAP_TRY_VALUE(next, open());
        STACKMAP_TRY(recorder.rotate(*next, {}));
        writer = std::move(next);
        files->close_previous();
        began = time;
      }
    }
    if (time >= next_look) {
      next_look += end / 12;
      files->finish();
      STACKMAP_TRY_VALUE(now, resident_memory());
      middle = time <= end / 2 ? now : middle;
      last = now;
      fmt::print("{:5.1f} h  {:>12} events  {:>10} resident  {:>10} on disk\n",
                 static_cast<double>(time) / static_cast<double>(kHour), human_count(recorder.counters().recorded()),
                 human_size(now), human_size(files->disk_bytes()));
    }
  }
  STACKMAP_TRY(recorder.close({}));
  files->close_last();
  files->finish();
  fmt::print("{} events in {} captures, of which {} made room; at most {} on disk\n",
             human_count(recorder.counters().recorded()), files->opened(), files->removed(), human_size(most_disk));
  if (most_disk > kDiskBound) {
    return make_error(ErrorKind::kFailed, "the disk bound was exceeded");
  }
  if (last > middle + middle / 10 + (uint64_t{1} << 20)) {
    return make_error(ErrorKind::kFailed, "memory grows");
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto hours = argc == 4 ? parse_uint(argv[1]) : Result<uint64_t>(Error{});
  const auto rate = argc == 4 ? parse_uint(argv[2]) : Result<uint64_t>(Error{});
  if (!hours || !rate || *hours == 0 || *rate == 0) {
    fmt::print(stderr, "usage: stackmap_replay HOURS EVENTS-A-SECOND DIRECTORY\n");
    return 2;
  }
  std::filesystem::create_directories(argv[3]);
  if (auto done = replay(*hours, *rate, argv[3]); !done) {
    log_error(done.error().message());
    return 1;
  }
  return 0;
}
