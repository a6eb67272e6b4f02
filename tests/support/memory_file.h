// SPDX-License-Identifier: Apache-2.0
// Files in memory: what code writes is seen without a disk, or counted alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/file.h"

namespace stackmap_test {

// Takes all that it gets, and remembers how much.
class Sink : public stackmap::WritableFile {
 public:
  explicit Sink(std::string name = "sink") : name_(std::move(name)) {}

  stackmap::Result<void> append(std::span<const std::byte> bytes) override {
    size_ += bytes.size();
    return {};
  }
  stackmap::Result<void> truncate(uint64_t size) override {
    size_ = size;
    return {};
  }
  stackmap::Result<void> sync() override { return {}; }
  const std::string& name() const override { return name_; }

 private:
  uint64_t size_ = 0;
  std::string name_;
};

// Keeps it in a string, which its owner may hold for longer than the file is there.
class MemoryFile : public Sink {
 public:
  explicit MemoryFile(std::shared_ptr<std::string> bytes = std::make_shared<std::string>(), std::string name = "memory")
      : Sink(std::move(name)), bytes_(std::move(bytes)) {}

  stackmap::Result<void> append(std::span<const std::byte> bytes) override {
    bytes_->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }
  stackmap::Result<void> truncate(uint64_t size) override {
    bytes_->resize(size);
    return {};
  }
  const std::string& bytes() const { return *bytes_; }

 private:
  std::shared_ptr<std::string> bytes_;
};

// What `write` writes.
inline std::string written(const std::function<void(stackmap::TextWriter&)>& write) {
  MemoryFile file;
  stackmap::TextWriter out(file);
  write(out);
  const auto flushed = out.flush();
  return flushed ? file.bytes() : "FAILED";
}

}  // namespace stackmap_test
