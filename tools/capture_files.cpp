// SPDX-License-Identifier: Apache-2.0
// Which files a command's inputs mean.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "capture/block.h"
#include "capture/segment_names.h"
#include "options.h"

namespace stackmap {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".smc";

// The .smc files of a folder, in order.
Result<std::vector<std::string>> files_in(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().ends_with(kEnding)) {
      files.push_back(it->path());
    }
  }
  if (error) {
    return errno_error_of(error.value(), "cannot read the folder " + folder.string());
  }
  std::ranges::sort(files);
  return files;
}

Result<std::vector<std::string>> files_of(const std::string& input) {
  std::error_code ignored;
  if (fs::is_directory(input, ignored)) {
    STACKMAP_TRY_VALUE(files, files_in(input));
    if (files.empty()) {
      return make_error(ErrorKind::kNotFound, "the folder " + input + " has no .smc file");
    }
    return files;
  }
  std::vector<std::string> files = {input};
  if (::access(input.c_str(), F_OK) == 0 && !input.ends_with(".map")) {
    return files;
  }
  const std::string base = capture_base(input);
  if (::access((base + ".smc").c_str(), F_OK) == 0) {
    files = {base + ".smc"};
  } else if (const std::vector<uint64_t> segments = find_segments(base); !segments.empty()) {
    files.clear();
    std::ranges::transform(segments, std::back_inserter(files),
                           [&](uint64_t number) { return segment_path(base, number); });
  }
  return files;
}

// A file that got its name, and of whose blocks none was on the disk when the power went: empty, or zeros.
bool is_unwritten(const std::string& path) {
  const auto file = open_file(path);
  std::array<std::byte, kBlockHeaderBytes> start{};
  const auto n = file ? (*file)->read_at(0, start) : Result<size_t>(0);
  return file && n && std::ranges::all_of(start, [](std::byte b) { return b == std::byte{0}; });
}

// Leaves out segments that hold nothing, if others do.
void drop_unwritten(std::vector<std::string>& files) {
  std::vector<std::string> written;
  std::vector<std::string> unwritten;
  for (const std::string& file : files) {
    (is_unwritten(file) ? unwritten : written).push_back(file);
  }
  if (written.empty()) {
    return;
  }
  for (const std::string& file : unwritten) {
    log_warning(file +
                " is empty: its recorder was cut off before anything of it was on the disk; the others are used");
  }
  files = std::move(written);
}

}  // namespace

Result<std::vector<std::string>> capture_files(const Inputs& inputs) {
  std::vector<std::string> files;
  for (const std::string& input : inputs) {
    STACKMAP_TRY_VALUE(more, files_of(input));
    files.insert(files.end(), more.begin(), more.end());
  }
  if (files.size() > 1) {
    drop_unwritten(files);
  }
  allow_open_files(files.size());  // each stays open
  return files;
}

}  // namespace stackmap
