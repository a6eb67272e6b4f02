// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include <unistd.h>

#include <cerrno>

#include "options.h"

namespace stackmap {

namespace {

class SharedFile final : public WritableFile {
 public:
  explicit SharedFile(WritableFile& file) : file_(file) {}
  Result<void> append(std::span<const std::byte> bytes) override { return file_.append(bytes); }
  Result<void> truncate(uint64_t size) override { return file_.truncate(size); }
  Result<void> sync() override { return file_.sync(); }
  const std::string& name() const override { return file_.name(); }

 private:
  WritableFile& file_;
};

}  // namespace

std::unique_ptr<WritableFile> share_file(WritableFile& file) {
  return std::make_unique<SharedFile>(file);
}

Result<void> refuse_existing(const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0) {
    return make_error(ErrorKind::kExists, path + " exists", "give another name with -o, or --force to replace it");
  }
  return {};
}

Result<void> refuse_terminal(const std::string& path, const std::string& what) {
  if ((path.empty() || path == "-") && ::isatty(STDOUT_FILENO) != 0) {
    return make_error(ErrorKind::kUsage, what + " is binary and is not written to a terminal",
                      "send it to a file or a pipe, or name a file with -o");
  }
  return {};
}

Result<CaptureOutput> choose_capture_output(const std::string& name, bool force) {
  if (name == "-") {
    STACKMAP_TRY(refuse_terminal(name, "a capture"));
    return CaptureOutput{"-", ""};
  }
  const std::string base = capture_base(name);
  const CaptureOutput output{base + ".smc", base + ".map"};
  if (!force) {
    STACKMAP_TRY(refuse_existing(output.capture));
    STACKMAP_TRY(refuse_existing(output.map));
  }
  const size_t slash = base.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : base.substr(0, slash + 1);
  if (::access(directory.c_str(), F_OK) != 0) {
    return errno_error("cannot write to " + directory, "make the directory first, or name another with -o");
  }
  if (::access(directory.c_str(), W_OK) != 0) {
    return errno_error("cannot write to " + directory, "name another place with -o");
  }
  return output;
}

Result<void> write_stdout(const std::function<Result<void>(TextWriter&)>& write) {
  const auto file = borrow_file(STDOUT_FILENO, "stdout");
  TextWriter writer(*file);
  STACKMAP_TRY(write(writer));
  auto flushed = writer.flush();
  if (!flushed && flushed.error().errnum == EPIPE) {
    return {};
  }
  return flushed;
}

Result<void> write_output(const OutputFile& output, const std::function<Result<void>(TextWriter&)>& write) {
  if (output.is_stdout()) {
    return write_stdout(write);
  }
  if (!output.force) {
    STACKMAP_TRY(refuse_existing(output.path));
  }
  STACKMAP_TRY_VALUE(file, ReplacingFile::create(output.path));
  TextWriter writer(file.file());
  STACKMAP_TRY(write(writer));
  STACKMAP_TRY(writer.flush());
  return file.commit();
}

}  // namespace stackmap
