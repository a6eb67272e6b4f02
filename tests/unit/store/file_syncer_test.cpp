// SPDX-License-Identifier: Apache-2.0
#include "store/file_syncer.h"

#include <pthread.h>

#include <condition_variable>
#include <csignal>

#include "support/catch.h"

using namespace stackmap;

namespace {

// A disk that takes its time: a sync ends when the test says so.
struct SlowDisk {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = true;
  size_t begun = 0;
  size_t closed = 0;
  size_t bytes = 0;
  std::vector<size_t> synced;  // what each sync has put on the disk
  int errnum = 0;              // of the syncs that end from now on
  bool takes_signals = false;  // the thread that syncs

  void set_open(bool now) {
    const std::lock_guard lock(mutex);
    open = now;
    changed.notify_all();
  }
  void wait_begun(size_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return begun >= count; });
  }
};

class SlowFile final : public WritableFile {
 public:
  explicit SlowFile(SlowDisk& disk) : disk_(disk) {}
  ~SlowFile() override {
    const std::lock_guard lock(disk_.mutex);
    ++disk_.closed;
  }
  SlowFile(const SlowFile&) = delete;
  SlowFile& operator=(const SlowFile&) = delete;

  Result<void> append(std::span<const std::byte> bytes) override {
    const std::lock_guard lock(disk_.mutex);
    disk_.bytes += bytes.size();
    return {};
  }
  Result<void> truncate(uint64_t size) override {
    const std::lock_guard lock(disk_.mutex);
    disk_.bytes = size;
    return {};
  }
  Result<void> sync() override {
    std::unique_lock lock(disk_.mutex);
    sigset_t blocked;
    (void)::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    disk_.takes_signals |= ::sigismember(&blocked, SIGINT) == 0;
    const size_t bytes = disk_.bytes;
    ++disk_.begun;
    disk_.changed.notify_all();
    disk_.changed.wait(lock, [&] { return disk_.open; });
    if (disk_.errnum != 0) {
      return errno_error_of(disk_.errnum, "cannot sync " + name_);
    }
    disk_.synced.push_back(bytes);
    return {};
  }
  const std::string& name() const override { return name_; }

 private:
  SlowDisk& disk_;
  std::string name_ = "slow";
};

}  // namespace

TEST_CASE("who writes a file does not wait for the disk, and what it asked for is done") {
  SlowDisk disk;
  FileSyncer syncer;
  const auto file = syncer.wrap(std::make_unique<SlowFile>(disk));
  CHECK(file->name() == "slow");
  disk.set_open(false);
  REQUIRE(file->append(std::string_view("12345")));
  REQUIRE(file->sync());
  disk.wait_begun(1);
  // The disk is at work. All of this returns.
  REQUIRE(file->append(std::string_view("678")));
  REQUIRE(file->sync());
  REQUIRE(file->append(std::string_view("9")));
  REQUIRE(file->sync());
  REQUIRE(file->sync());
  disk.set_open(true);
  REQUIRE(syncer.wait());
  // The three that came meanwhile are one, of all that is there.
  CHECK(disk.synced == std::vector<size_t>{5, 9});
  // Who blocks signals to wait for them gets them.
  CHECK_FALSE(disk.takes_signals);
  REQUIRE(file->truncate(4));
  REQUIRE(file->sync());
  REQUIRE(syncer.wait());
  CHECK(disk.synced.back() == 4);
}

TEST_CASE("a file that is given up is synced first, and closed when the wait is over") {
  SlowDisk disk;
  {
    FileSyncer syncer;
    disk.set_open(false);
    for (int i = 0; i < 3; ++i) {
      const auto file = syncer.wrap(std::make_unique<SlowFile>(disk));
      REQUIRE(file->append(std::string_view("x")));
      REQUIRE(file->sync());
    }
    disk.wait_begun(1);
    CHECK(disk.closed == 0);
    disk.set_open(true);
    REQUIRE(syncer.wait());
    CHECK(disk.synced.size() == 3);
    CHECK(disk.closed == 3);
    // One that nobody asks about goes at once; one that is asked about goes with the syncer.
    (void)syncer.wrap(std::make_unique<SlowFile>(disk));
    CHECK(disk.closed == 4);
    REQUIRE(syncer.wrap(std::make_unique<SlowFile>(disk))->sync());
  }
  CHECK(disk.synced.size() == 4);
  CHECK(disk.closed == 5);
}

TEST_CASE("a sync that failed is told once: to the file's next sync, else to who waits") {
  SlowDisk broken;
  SlowDisk sound;
  FileSyncer syncer;
  const auto file = syncer.wrap(std::make_unique<SlowFile>(broken));
  const auto other = syncer.wrap(std::make_unique<SlowFile>(sound));
  const auto fail = [&] {
    const std::lock_guard lock(broken.mutex);
    broken.errnum = EIO;
  };
  const auto mend = [&] {
    const std::lock_guard lock(broken.mutex);
    broken.errnum = 0;
  };

  fail();
  REQUIRE(file->sync());
  broken.wait_begun(1);
  // The other file's sync is behind it in the line: when it has begun, the failure is known.
  REQUIRE(other->sync());
  sound.wait_begun(1);
  mend();
  REQUIRE(other->sync());  // it is none of its business
  const auto told = file->sync();
  REQUIRE_FALSE(told);
  CHECK(told.error().message() == "cannot sync slow: Input/output error");
  REQUIRE(syncer.wait());
  REQUIRE(file->sync());
  REQUIRE(syncer.wait());

  fail();
  REQUIRE(syncer.wrap(std::make_unique<SlowFile>(broken))->sync());
  const auto waited = syncer.wait();
  REQUIRE_FALSE(waited);
  CHECK(waited.error().errnum == EIO);
  REQUIRE(syncer.wait());
}
