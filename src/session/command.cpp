// SPDX-License-Identifier: Apache-2.0
#include "session/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace stackmap {

namespace {

[[noreturn]] void run_child(const std::vector<std::string>& arguments, int go, int outcome) {
  sigset_t none;
  (void)sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, nullptr);
  (void)::signal(SIGPIPE, SIG_DFL);
  char byte = 0;
  ssize_t n = 0;
  do {
    n = ::read(go, &byte, 1);
  } while (n < 0 && errno == EINTR);
  if (n != 1) {
    ::_exit(0);
  }
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));  // NOLINT: execvp does not write to it
  }
  argv.push_back(nullptr);
  (void)::execvp(argv[0], argv.data());
  const int errnum = errno;
  (void)!::write(outcome, &errnum, sizeof(errnum));
  ::_exit(127);
}

}  // namespace

Result<Command> Command::prepare(std::vector<std::string> arguments) {
  int go[2];
  int outcome[2];
  if (::pipe2(go, O_CLOEXEC) != 0) {
    return errno_error("cannot make a pipe");
  }
  const Fd go_read(go[0]);
  Fd go_write(go[1]);
  if (::pipe2(outcome, O_CLOEXEC) != 0) {
    return errno_error("cannot make a pipe");
  }
  Fd outcome_read(outcome[0]);
  Fd outcome_write(outcome[1]);
  Command command;
  command.name_ = arguments.front();
  command.pid_ = ::fork();
  if (command.pid_ < 0) {
    return errno_error("cannot start " + command.name_);
  }
  if (command.pid_ == 0) {
    go_write.reset();
    run_child(arguments, go_read.get(), outcome_write.get());
  }
  command.held_ = true;
  command.pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, command.pid_, 0)));
  if (!command.pidfd_.valid()) {
    return errno_error("cannot watch " + command.name_);
  }
  command.go_ = std::move(go_write);
  command.outcome_ = std::move(outcome_read);
  return command;
}

Command::Command(Command&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      go_(std::move(other.go_)),
      outcome_(std::move(other.outcome_)),
      name_(std::move(other.name_)),
      held_(std::exchange(other.held_, false)),
      waited_(other.waited_) {}

Command::~Command() {
  if (held_) {
    go_.reset();
    (void)wait();
  }
}

Result<void> Command::go() {
  held_ = false;
  const char byte = 1;
  (void)!::write(go_.get(), &byte, 1);  // a child that is gone shows below
  go_.reset();
  int errnum = 0;
  ssize_t n = 0;
  do {
    n = ::read(outcome_.get(), &errnum, sizeof(errnum));
  } while (n < 0 && errno == EINTR);
  outcome_.reset();
  if (n == sizeof(errnum)) {
    (void)wait();
    Error error = errno_error_of(errnum, "cannot run " + name_);
    error.kind = errnum == ENOENT ? ErrorKind::kCommandNotFound : ErrorKind::kCannotExecute;
    return error;
  }
  return {};
}

bool Command::has_ended() const {
  pollfd ended = {pidfd_.get(), POLLIN, 0};
  return waited_ || ::poll(&ended, 1, 0) == 1;
}

std::optional<int> Command::stop() {
  const bool ended = has_ended();
  if (!ended) {
    (void)::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGTERM, nullptr, 0);  // it may have ended meanwhile
  }
  const auto status = wait();
  return ended ? status : std::nullopt;
}

std::optional<int> Command::wait() {
  int status = 0;
  pid_t done = 0;
  do {
    done = ::waitpid(pid_, &status, 0);
  } while (done < 0 && errno == EINTR);
  waited_ = true;
  return done == pid_ ? std::optional(status) : std::nullopt;
}

int Command::exit_code(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string Command::describe(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    return fmt::format("was killed by SIG{}", name != nullptr ? name : "?");
  }
  return WEXITSTATUS(status) == 0 ? "" : fmt::format("ended with {}", WEXITSTATUS(status));
}

}  // namespace stackmap
