// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace stackmap {

void Fd::reset(int fd) {
  if (fd_ >= 0) {
    // What close() may report was reported by the fsync() or write() before it; a retry could close another's file.
    (void)::close(fd_);
  }
  fd_ = fd;
}

Result<void> write_all(int fd, std::span<const std::byte> bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno_error("cannot write " + name);
    }
    if (n == 0) {
      return errno_error_of(ENOSPC, "cannot write " + name);
    }
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

Result<size_t> read_up_to(int fd, std::span<std::byte> bytes, const std::string& name) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::read(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno_error("cannot read " + name);
    }
    if (n == 0) {
      break;
    }
    done += static_cast<size_t>(n);
  }
  return done;
}

Result<std::string> read_text_fd(int fd, const std::string& name, size_t limit) {
  std::string text;
  size_t done = 0;
  for (;;) {
    text.resize(done + (done < 4096 ? 4096 : done));
    STACKMAP_TRY_VALUE(n, read_up_to(fd, std::as_writable_bytes(std::span(text).subspan(done)), name));
    const bool end = n < text.size() - done;
    done += n;
    if (done > limit) {
      return make_error(ErrorKind::kFailed, name + " is larger than " + std::to_string(limit) + " bytes");
    }
    if (end) {
      text.resize(done);
      return text;
    }
  }
}

Result<std::string> read_text_file(const std::string& path, size_t limit) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return errno_error("cannot open " + path);
  }
  return read_text_fd(fd.get(), path, limit);
}

void allow_open_files(size_t count) {
  constexpr size_t kOthers = 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < count + kOthers) {
    limit.rlim_cur = std::min<rlim_t>(count + kOthers, limit.rlim_max);
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace stackmap
