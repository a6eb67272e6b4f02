// SPDX-License-Identifier: Apache-2.0
// A file in memory whose writes fail when they are told to: the disk is full, or breaks, or takes a part of what it
// gets.
#pragma once

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "support/memory_file.h"

namespace stackmap_test {

struct Disk {
  std::string bytes;
  size_t appends = 0;
  size_t fail_at = SIZE_MAX;  // the append of this number, from 0, fails
  bool keep_failing = false;  // and all after it
  int errnum = ENOSPC;
  size_t take = 0;  // bytes of the failing append that still arrive
  bool truncate_fails = false;
  std::vector<size_t> synced;  // how much was there at each sync
};

class FaultyFile final : public MemoryFile {
 public:
  explicit FaultyFile(const std::shared_ptr<Disk>& disk)
      : MemoryFile(std::shared_ptr<std::string>(disk, &disk->bytes), "disk"), disk_(disk) {}

  stackmap::Result<void> append(std::span<const std::byte> bytes) override {
    const size_t number = disk_->appends++;
    if (number == disk_->fail_at || (disk_->keep_failing && number > disk_->fail_at)) {
      (void)MemoryFile::append(bytes.first(std::min(disk_->take, bytes.size())));
      return stackmap::errno_error_of(disk_->errnum, "cannot write " + name());
    }
    return MemoryFile::append(bytes);
  }
  stackmap::Result<void> truncate(uint64_t size) override {
    if (disk_->truncate_fails) {
      return stackmap::errno_error_of(EIO, "cannot cut " + name());
    }
    return MemoryFile::truncate(size);
  }
  stackmap::Result<void> sync() override {
    disk_->synced.push_back(disk_->bytes.size());
    return {};
  }

 private:
  std::shared_ptr<Disk> disk_;
};

// A file of a disk that is full.
inline FaultyFile full_file() {
  auto disk = std::make_shared<Disk>();
  disk->fail_at = 0;
  disk->keep_failing = true;
  return FaultyFile(disk);
}

}  // namespace stackmap_test
