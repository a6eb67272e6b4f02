// SPDX-License-Identifier: Apache-2.0
// Where a command's data goes: -o FILE, or stdout.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/file.h"
#include "base/result.h"

namespace stackmap {

struct OutputFile {
  std::string path = {};  // "" or "-": stdout
  bool force = false;     // replace a file that exists, which is refused otherwise

  bool is_stdout() const { return path.empty() || path == "-"; }
};

// Runs `write` with a writer for the file. It comes into place whole or not at all.
Result<void> write_output(const OutputFile& output, const std::function<Result<void>(TextWriter&)>& write);
// The same to stdout; a reader that goes away early is no error.
Result<void> write_stdout(const std::function<Result<void>(TextWriter&)>& write);

// A file that somebody else closes or renames. It must outlive the result.
std::unique_ptr<WritableFile> share_file(WritableFile& file);

// Whether a file of that name would be overwritten: kExists, with what to do.
Result<void> refuse_existing(const std::string& path);

// kUsage if `path` is stdout ("" or "-") and that is a terminal. `what` begins the message: "a capture".
Result<void> refuse_terminal(const std::string& path, const std::string& what);

// Where a command that makes a capture puts it.
struct CaptureOutput {
  std::string capture;  // a path, or "-"
  std::string map;      // empty: none
};

// NAME, NAME.smc or NAME.map -> both paths, neither of which exists unless `force`, in a directory that can be written
// to; "-": stdout, if that is no terminal, and no map file.
Result<CaptureOutput> choose_capture_output(const std::string& name, bool force);

}  // namespace stackmap
