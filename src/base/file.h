// SPDX-License-Identifier: Apache-2.0
// The one seam through which files are written and captures are read. Tests put a faulty implementation in its place.
//
// Not thread-safe: one owner a file.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace stackmap {

class WritableFile {
 public:
  virtual ~WritableFile() = default;
  // Appends all of it, or fails; after a failure an unknown part of it may be in the file.
  virtual Result<void> append(std::span<const std::byte> bytes) = 0;
  // Cuts the file back to `size` bytes: how a writer takes back a half-written block.
  virtual Result<void> truncate(uint64_t size) = 0;
  // Returns when what was appended before is on the disk, and so is the name of a file that is new. Unlike the others
  // it may be called on another thread (one) at the same time.
  virtual Result<void> sync() = 0;
  virtual const std::string& name() const = 0;

  Result<void> append(std::string_view text) { return append(std::as_bytes(std::span(text))); }
};

class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  // Reads from `offset`; fewer bytes than asked for only at the end of the file.
  virtual Result<size_t> read_at(uint64_t offset, std::span<std::byte> bytes) const = 0;
  virtual uint64_t size() const = 0;
  virtual const std::string& name() const = 0;
};

// "a/b/c" -> "a/b/", "c" -> ".".
std::string directory_of(const std::string& path);

enum class Create : uint8_t {
  // An existing file is an error (kExists). The file gets its name with the first append(): before that there is
  // nothing that a crash could leave. Where a file system cannot do that, it is there and empty until then.
  kNew,
  kReplace,  // an existing file is emptied
};

Result<std::unique_ptr<WritableFile>> create_file(const std::string& path, Create create, mode_t mode = 0644);
// A file that is already open, for instance stdout. It is not closed.
std::unique_ptr<WritableFile> borrow_file(int fd, std::string name);
Result<std::unique_ptr<ReadableFile>> open_file(const std::string& path);
// Bytes in memory as a file.
std::unique_ptr<ReadableFile> memory_file(std::string bytes, std::string name);

// Writes a text file beside `path` and renames it into place when commit() is called, so that `path` is at all times
// either the old file or the whole new one. Without commit() the temporary file is removed.
class ReplacingFile {
 public:
  static Result<ReplacingFile> create(const std::string& path, mode_t mode = 0644);
  ReplacingFile(ReplacingFile&&) noexcept;
  ReplacingFile& operator=(ReplacingFile&&) = delete;
  ReplacingFile(const ReplacingFile&) = delete;
  ReplacingFile& operator=(const ReplacingFile&) = delete;
  ~ReplacingFile();

  WritableFile& file() { return *file_; }
  Result<void> commit();

 private:
  ReplacingFile() = default;
  std::string path_;
  std::string temporary_;
  std::unique_ptr<WritableFile> file_;
};

// Collects text and appends it to a file in large pieces. flush() at the end is the caller's, since it can fail.
class TextWriter {
 public:
  explicit TextWriter(WritableFile& file) : file_(file) {}
  // Buffers `text`. After a failure it drops what it gets; flush() reports the first failure.
  void write(std::string_view text);
  Result<void> flush();
  bool failed() const { return !status_.ok(); }

 private:
  WritableFile& file_;
  std::string buffer_;
  Result<void> status_;
};

}  // namespace stackmap
