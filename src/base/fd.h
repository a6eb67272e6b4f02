// SPDX-License-Identifier: Apache-2.0
// An owned file descriptor, and whole reads and writes on one: EINTR and short transfers are handled here and nowhere
// else.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"

namespace stackmap {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset(std::exchange(other.fd_, -1));
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

// Writes all of `bytes`. `name` is what the error calls the file.
Result<void> write_all(int fd, std::span<const std::byte> bytes, const std::string& name);

// Reads up to `bytes.size()` bytes; fewer only at the end of the file. Returns how many.
Result<size_t> read_up_to(int fd, std::span<std::byte> bytes, const std::string& name);

// The whole of a (small, possibly sizeless, as in /proc) file. More than `limit` bytes is an error.
Result<std::string> read_text_file(const std::string& path, size_t limit = size_t{64} << 20);
Result<std::string> read_text_fd(int fd, const std::string& name, size_t limit = size_t{64} << 20);

// Lets the process have `count` files open and some others, as far as the hard limit allows. Where it does not, opening
// says so.
void allow_open_files(size_t count);

}  // namespace stackmap
