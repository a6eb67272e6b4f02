// SPDX-License-Identifier: Apache-2.0
#include "session/control_socket.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/bytes.h"

namespace stackmap {

namespace {

// The length was checked by control_path().
sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof(address.sun_path) - 1));
  return address;
}

Result<void> make_directory() {
  if (::mkdir(kControlDirectory, 0755) != 0 && errno != EEXIST) {
    return errno_error(std::string("cannot make ") + kControlDirectory, "name another place with --control=PATH");
  }
  return {};
}

Result<Fd> take_lock(const std::string& path) {
  const std::string name = path + ".lock";
  Fd lock(::open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock.valid()) {
    return errno_error("cannot make " + name, "name another place with --control=PATH");
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return errno_error_of(EBUSY, "a recording is already controlled by " + path,
                          "give this one another name with --control=NAME");
  }
  return lock;
}

// With the lock held, a socket in this place is nobody's.
Result<void> clear_place(const std::string& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) {
    return errno == ENOENT ? Result<void>() : Result<void>(errno_error("cannot look at " + path));
  }
  if (!S_ISSOCK(st.st_mode)) {
    return make_error(ErrorKind::kExists, path + " is there and is no socket",
                      "remove it, or name another place with --control=PATH");
  }
  if (::unlink(path.c_str()) != 0) {
    return errno_error("cannot replace " + path);
  }
  return {};
}

}  // namespace

Result<std::string> control_path(std::string_view name_or_path) {
  const bool is_path = name_or_path.find('/') != std::string_view::npos;
  if (name_or_path.empty() || (!is_path && name_or_path.front() == '.')) {
    return make_error(ErrorKind::kUsage, "'" + std::string(name_or_path) + "' is no name of a recording");
  }
  std::string path =
      is_path ? std::string(name_or_path) : std::string(kControlDirectory) + "/" + std::string(name_or_path) + ".sock";
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return make_error(ErrorKind::kUsage, "the control socket's path is longer than the " +
                                             std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                                             " bytes that a socket's address has: " + path);
  }
  return path;
}

Result<ControlSocket> ControlSocket::listen(const std::string& path) {
  if (path.starts_with(std::string(kControlDirectory) + "/")) {
    STACKMAP_TRY(make_directory());
  }
  ControlSocket control;
  STACKMAP_TRY_VALUE(lock, take_lock(path));
  STACKMAP_TRY(clear_place(path));
  control.lock_ = std::move(lock);
  control.socket_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = address_of(path);
  const mode_t before = ::umask(0177);
  const int bound = control.socket_.valid()
                        ? ::bind(control.socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address))
                        : -1;
  const int errnum = errno;
  (void)::umask(before);
  if (bound != 0) {
    return errno_error_of(errnum, "cannot make the control socket " + path);
  }
  control.path_ = path;
  if (::listen(control.socket_.get(), 16) != 0) {
    return errno_error("cannot listen on " + path);
  }
  return control;
}

ControlSocket::~ControlSocket() {
  if (!path_.empty() && lock_.valid()) {
    (void)::unlink(path_.c_str());
    (void)::unlink((path_ + ".lock").c_str());
  }
}

Result<std::string> control_command(const std::string& path, const std::string& command) {
  const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(path);
  if (!fd.valid() || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int errnum = errno;
    if (errnum == ENOENT || errnum == ECONNREFUSED) {
      return make_error(ErrorKind::kNotFound, "no recording listens on " + path,
                        "was it started with --control, under this name?");
    }
    return errno_error_of(errnum, "cannot reach the recording at " + path,
                          errnum == EACCES || errnum == EPERM ? "be the user that records" : "");
  }
  STACKMAP_TRY(write_all(fd.get(), bytes_of(command + "\n"), path));
  STACKMAP_TRY_VALUE(answer, read_text_fd(fd.get(), path, size_t{4} << 30));
  const size_t end = answer.find('\n');
  if (answer.starts_with("ok\n")) {
    return answer.substr(3);
  }
  if (answer.starts_with("error ") && end != std::string::npos) {
    return make_error(ErrorKind::kFailed, answer.substr(6, end - 6));
  }
  return make_error(ErrorKind::kFailed, "the recording at " + path + " went away before it answered");
}

}  // namespace stackmap
