// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include <unistd.h>

#include <cerrno>

namespace stackmap {

Result<void> refuse_existing(const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0) {
    return make_error(ErrorKind::kExists, path + " exists", "give another name with -o, or --force to replace it");
  }
  return {};
}

Result<void> write_output(const std::string& path, bool force, const std::function<Result<void>(TextWriter&)>& write) {
  if (path.empty() || path == "-") {
    const auto file = borrow_file(STDOUT_FILENO, "stdout");
    TextWriter writer(*file);
    STACKMAP_TRY(write(writer));
    auto flushed = writer.flush();
    if (!flushed && flushed.error().errnum == EPIPE) {
      return {};
    }
    return flushed;
  }
  if (!force) {
    STACKMAP_TRY(refuse_existing(path));
  }
  STACKMAP_TRY_VALUE(file, ReplacingFile::create(path));
  TextWriter writer(file.file());
  STACKMAP_TRY(write(writer));
  STACKMAP_TRY(writer.flush());
  return file.commit();
}

}  // namespace stackmap
