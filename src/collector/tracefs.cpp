// SPDX-License-Identifier: Apache-2.0
#include "collector/tracefs.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/text.h"

namespace stackmap {

namespace {

constexpr size_t kMaxText = size_t{64} << 10;  // bytes of a file that tells of one tracepoint
constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// A tracefs that is mounted nowhere, as a descriptor.
Fd private_tracefs() {
  const Fd context(static_cast<int>(::syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context.valid() || ::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return Fd();
  }
  return Fd(static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY)));
}

// The names in a folder that are folders.
Result<std::vector<std::string>> folders_in(int parent, const char* name) {
  Fd fd(::openat(parent, name, kFolder));
  if (!fd.valid()) {
    return errno_error(std::string("cannot read tracefs events/") + name);
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(fd.get()), ::closedir);
  if (dir == nullptr) {
    return errno_error("cannot read tracefs");
  }
  (void)fd.release();  // the stream's now
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(dir.get())) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
      names.emplace_back(entry->d_name);
    }
  }
  return names;
}

}  // namespace

Result<TraceFs> TraceFs::open_at(const std::string& path) {
  Fd events(::open((path + "/events").c_str(), kFolder));
  if (!events.valid()) {
    return errno_error("cannot open " + path + "/events");
  }
  return TraceFs(std::move(events));
}

Result<TraceFs> TraceFs::open() {
  int errnum = 0;
  for (const char* path : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    auto opened = open_at(path);
    if (opened) {
      return opened;
    }
    errnum = std::max(errnum == ENOENT ? 0 : errnum, opened.error().errnum);
  }
  const Fd mounted = private_tracefs();
  if (mounted.valid()) {
    Fd events(::openat(mounted.get(), "events", kFolder));
    if (events.valid()) {
      return TraceFs(std::move(events));
    }
  }
  const bool refused = errno == EPERM || errno == EACCES || errnum == EACCES;
  return errno_error_of(refused ? EPERM : errno, "cannot read the list of tracepoints (tracefs)",
                        refused ? "run as root" : "mount it: mount -t tracefs nodev /sys/kernel/tracing");
}

Result<std::vector<Tracepoint>> TraceFs::tracepoints() const {
  std::vector<Tracepoint> all;
  STACKMAP_TRY_VALUE(categories, folders_in(events_.get(), "."));
  for (const std::string& category : categories) {
    if (category == "ftrace") {
      continue;
    }
    STACKMAP_TRY_VALUE(names, folders_in(events_.get(), category.c_str()));
    for (const std::string& name : names) {
      all.push_back({category, name});
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

Result<std::string> TraceFs::read(std::string_view category, std::string_view name, const char* file) const {
  const std::string path = std::string(category) + "/" + std::string(name) + "/" + file;
  const Fd fd(::openat(events_.get(), path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return errno_error("cannot open tracefs events/" + path);
  }
  return read_text_fd(fd.get(), path, kMaxText);
}

Result<uint64_t> TraceFs::id(std::string_view category, std::string_view name) const {
  STACKMAP_TRY_VALUE(text, read(category, name, "id"));
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  return parse_uint(text);
}

Result<std::string> TraceFs::format(std::string_view category, std::string_view name) const {
  return read(category, name, "format");
}

}  // namespace stackmap
