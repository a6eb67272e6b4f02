// SPDX-License-Identifier: Apache-2.0
// A file in memory whose writes fail when they are told to: the disk is full, or breaks, or takes a part of what it
// gets.
#pragma once

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"

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

class FaultyFile final : public stackmap::WritableFile {
 public:
  explicit FaultyFile(std::shared_ptr<Disk> disk) : disk_(std::move(disk)) {}

  stackmap::Result<void> append(std::span<const std::byte> bytes) override {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const size_t number = disk_->appends++;
    if (number == disk_->fail_at || (disk_->keep_failing && number > disk_->fail_at)) {
      disk_->bytes += text.substr(0, disk_->take);
      return stackmap::errno_error_of(disk_->errnum, "cannot write " + name_);
    }
    disk_->bytes += text;
    return {};
  }
  stackmap::Result<void> truncate(uint64_t size) override {
    if (disk_->truncate_fails) {
      return stackmap::errno_error_of(EIO, "cannot cut " + name_);
    }
    disk_->bytes.resize(size);
    return {};
  }
  stackmap::Result<void> sync() override {
    disk_->synced.push_back(disk_->bytes.size());
    return {};
  }
  const std::string& name() const override { return name_; }

 private:
  std::shared_ptr<Disk> disk_;
  std::string name_ = "disk";
};

}  // namespace stackmap_test
