// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace stackmap {

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

namespace {

class PosixWritableFile final : public WritableFile {
 public:
  enum class Name : uint8_t { kLater, kNew, kOld };
  PosixWritableFile(Fd owned, int fd, std::string name, Name state)
      : owned_(std::move(owned)),
        fd_(fd),
        name_(std::move(name)),
        named_(state != Name::kLater),
        name_synced_(state == Name::kOld) {}

  Result<void> append(std::span<const std::byte> bytes) override {
    STACKMAP_TRY(write_all(fd_, bytes, name_));
    if (!named_) {
      const std::string self = "/proc/self/fd/" + std::to_string(fd_);
      if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
        return errno_error("cannot create " + name_);
      }
      named_ = true;
    }
    return {};
  }

  Result<void> truncate(uint64_t size) override {
    if (::ftruncate(fd_, static_cast<off_t>(size)) != 0 || ::lseek(fd_, static_cast<off_t>(size), SEEK_SET) < 0) {
      return errno_error("cannot cut " + name_ + " back to " + std::to_string(size) + " bytes");
    }
    return {};
  }

  Result<void> sync() override {
    // A pipe or a terminal has nothing to sync.
    if (::fdatasync(fd_) != 0 && errno != EINVAL && errno != EROFS) {
      return errno_error("cannot sync " + name_);
    }
    // A new name is on the disk only when its directory is.
    if (!std::exchange(name_synced_, true)) {
      const Fd directory(::open(directory_of(name_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (directory.valid()) {
        (void)::fsync(directory.get());  // not every file system can
      }
    }
    return {};
  }

  const std::string& name() const override { return name_; }

 private:
  Fd owned_;
  int fd_;
  std::string name_;
  bool named_;        // false: it has no name in its directory yet
  bool name_synced_;  // of sync() alone, which may run beside append()
};

class PosixReadableFile final : public ReadableFile {
 public:
  PosixReadableFile(Fd fd, uint64_t size, std::string name) : fd_(std::move(fd)), size_(size), name_(std::move(name)) {}

  Result<size_t> read_at(uint64_t offset, std::span<std::byte> bytes) const override {
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = ::pread(fd_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
      if (n < 0) {
        if (errno == EINTR) {
          continue;
        }
        return errno_error("cannot read " + name_);
      }
      if (n == 0) {
        break;
      }
      done += static_cast<size_t>(n);
    }
    return done;
  }
  uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }

 private:
  Fd fd_;
  uint64_t size_;
  std::string name_;
};

class MemoryFile final : public ReadableFile {
 public:
  MemoryFile(std::string bytes, std::string name) : bytes_(std::move(bytes)), name_(std::move(name)) {}

  Result<size_t> read_at(uint64_t offset, std::span<std::byte> bytes) const override {
    if (offset >= bytes_.size()) {
      return size_t{0};
    }
    const size_t n = std::min(bytes.size(), bytes_.size() - static_cast<size_t>(offset));
    std::memcpy(bytes.data(), bytes_.data() + offset, n);
    return n;
  }
  uint64_t size() const override { return bytes_.size(); }
  const std::string& name() const override { return name_; }

 private:
  std::string bytes_;
  std::string name_;
};

}  // namespace

Result<std::unique_ptr<WritableFile>> create_file(const std::string& path, Create create, mode_t mode) {
  if (create == Create::kNew) {
    if (::access(path.c_str(), F_OK) == 0) {
      return errno_error_of(EEXIST, "cannot create " + path);
    }
    Fd fd(::open(directory_of(path).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, mode));
    if (fd.valid()) {
      const int raw = fd.get();
      return std::unique_ptr<WritableFile>(
          new PosixWritableFile(std::move(fd), raw, path, PosixWritableFile::Name::kLater));
    }
    // Else this file system has no such files, or whatever is wrong shows again.
  }
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (create == Create::kNew ? O_EXCL : O_TRUNC);
  Fd fd(::open(path.c_str(), flags, mode));
  if (!fd.valid()) {
    return errno_error("cannot create " + path);
  }
  const int raw = fd.get();
  return std::unique_ptr<WritableFile>(new PosixWritableFile(std::move(fd), raw, path, PosixWritableFile::Name::kNew));
}

std::unique_ptr<WritableFile> borrow_file(int fd, std::string name) {
  return std::make_unique<PosixWritableFile>(Fd(), fd, std::move(name), PosixWritableFile::Name::kOld);
}

Result<std::unique_ptr<ReadableFile>> open_file(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat st {};
  if (!fd.valid() || ::fstat(fd.get(), &st) != 0) {
    return errno_error("cannot open " + path);
  }
  if (S_ISDIR(st.st_mode)) {
    return errno_error_of(EISDIR, "cannot open " + path);
  }
  if (!S_ISREG(st.st_mode)) {
    STACKMAP_TRY_VALUE(bytes, read_text_fd(fd.get(), path, size_t{4} << 30));
    return memory_file(std::move(bytes), path);
  }
  return std::unique_ptr<ReadableFile>(new PosixReadableFile(std::move(fd), static_cast<uint64_t>(st.st_size), path));
}

std::unique_ptr<ReadableFile> memory_file(std::string bytes, std::string name) {
  return std::make_unique<MemoryFile>(std::move(bytes), std::move(name));
}

Result<ReplacingFile> ReplacingFile::create(const std::string& path, mode_t mode) {
  ReplacingFile replacing;
  replacing.path_ = path;
  replacing.temporary_ = path + ".tmp" + std::to_string(::getpid());
  auto file = create_file(replacing.temporary_, Create::kReplace, mode);
  if (!file) {
    replacing.temporary_.clear();
    return std::move(file).error();
  }
  replacing.file_ = std::move(file).value();
  return replacing;
}

ReplacingFile::ReplacingFile(ReplacingFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})), file_(std::move(other.file_)) {}

ReplacingFile::~ReplacingFile() {
  if (!temporary_.empty()) {
    (void)::unlink(temporary_.c_str());
  }
}

Result<void> ReplacingFile::commit() {
  STACKMAP_TRY(file_->sync());
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return errno_error("cannot rename " + temporary_ + " to " + path_);
  }
  temporary_.clear();
  return {};
}

void TextWriter::write(std::string_view text) {
  if (failed()) {
    return;
  }
  buffer_.append(text);
  if (buffer_.size() >= (size_t{256} << 10)) {
    (void)flush();
  }
}

Result<void> TextWriter::flush() {
  if (status_.ok() && !buffer_.empty()) {
    status_ = file_.append(std::string_view(buffer_));
    buffer_.clear();
  }
  return status_;
}

}  // namespace stackmap
