// SPDX-License-Identifier: Apache-2.0
// The command's exit codes, and which error has which.
#pragma once

#include "base/result.h"

namespace stackmap {

enum ExitCode : int {
  kDone = 0,
  kFailedExit = 1,
  kUsageExit = 2,
  kTooMuchLost = 3,
  kNotPossibleHere = 4,  // missing privilege or kernel feature
  kCannotExecute = 126,  // the command to run; as in a shell
  kCommandNotFound = 127,
};

inline int exit_code(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kUsage:
      return kUsageExit;
    case ErrorKind::kPrivilege:
    case ErrorKind::kUnsupported:
      return kNotPossibleHere;
    case ErrorKind::kCommandNotFound:
      return kCommandNotFound;
    case ErrorKind::kCannotExecute:
      return kCannotExecute;
    default:
      return kFailedExit;
  }
}

}  // namespace stackmap
