// SPDX-License-Identifier: Apache-2.0
// The command that `record -- COMMAND` runs: started, but held before its exec until recording is on. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace stackmap {

class Command {
 public:
  // Forks. The child keeps this process's stdin, stdout and stderr, has default signal handling, and waits for go().
  static Result<Command> prepare(std::vector<std::string> arguments);
  Command(Command&&) noexcept;
  Command& operator=(Command&&) = delete;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  // Ends a child that is still held; waits for no other.
  ~Command();

  // Lets it run, and returns when it has been executed. kCommandNotFound or kCannotExecute if that failed.
  Result<void> go();

  int pidfd() const { return pidfd_.get(); }  // readable when it has ended
  // Waits for its end, after a SIGTERM if it has not ended by itself. Its status, as waitpid() gives it, if it has;
  // none if somebody else took it.
  std::optional<int> stop();
  // "ended with 3", "was killed by SIGTERM"; empty for a success.
  static std::string describe(int status);
  // As a shell counts: 128 and the signal's number for one that was killed.
  static int exit_code(int status);

 private:
  Command() = default;
  bool has_ended() const;
  std::optional<int> wait();
  pid_t pid_ = -1;
  Fd pidfd_;
  Fd go_;       // closed without a byte: the child exits
  Fd outcome_;  // errno of a failed exec; closed by a good one
  std::string name_;
  bool held_ = false;
  bool waited_ = false;
};

}  // namespace stackmap
