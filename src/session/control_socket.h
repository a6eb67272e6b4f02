// SPDX-License-Identifier: Apache-2.0
// The Unix socket by which a running recording is controlled: where it is, how it is made, how it is reached.
//
// The protocol, a connection a command: the client sends one line (session/control_line.h); the answer begins
// with the line "ok" or "error TEXT", then the command's text, up to the end of the connection.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace stackmap {

inline constexpr const char* kControlDirectory = "/run/stackmap";

// A name without a slash is NAME.sock in kControlDirectory; anything else is a path. kUsage if the path is longer than
// a socket's address can be, or the name is empty or begins with a dot.
Result<std::string> control_path(std::string_view name_or_path);

// A listening socket that is removed, with its lock, when it goes. Mode 0600.
class ControlSocket {
 public:
  // Makes kControlDirectory if that is where it goes. A socket that nobody listens on any more is replaced; one that is
  // in use, a symbolic link, and anything else in its place are refused.
  static Result<ControlSocket> listen(const std::string& path);
  ControlSocket(ControlSocket&&) noexcept = default;
  ControlSocket& operator=(ControlSocket&&) = delete;
  ~ControlSocket();

  int fd() const { return socket_.get(); }

 private:
  ControlSocket() = default;
  std::string path_;
  Fd lock_;  // held for as long as the recording lasts: who has it may replace the socket
  Fd socket_;
};

// Sends `command` and returns the text behind "ok". An "error" is an error of kind kFailed with its text. kNotFound if
// nothing listens there.
Result<std::string> control_command(const std::string& path, const std::string& command);

}  // namespace stackmap
