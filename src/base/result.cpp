// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <cerrno>
#include <system_error>

namespace stackmap {

namespace {

ErrorKind kind_of(int errnum) {
  switch (errnum) {
    case EPERM:
    case EACCES:
      return ErrorKind::kPrivilege;
    case ENOENT:
    case ESRCH:
      return ErrorKind::kNotFound;
    case EEXIST:
      return ErrorKind::kExists;
    default:
      return ErrorKind::kFailed;
  }
}

}  // namespace

std::string Error::message() const {
  std::string text = context;
  if (errnum != 0) {
    text += ": " + std::generic_category().message(errnum);
  }
  if (!remedy.empty()) {
    text += "; " + remedy;
  }
  return text;
}

Error&& Error::within(const std::string& what) && {
  context = what + ": " + context;
  return std::move(*this);
}

Error errno_error_of(int errnum, std::string context, std::string remedy) {
  return Error{kind_of(errnum), errnum, std::move(context), std::move(remedy)};
}

Error errno_error(std::string context, std::string remedy) {
  return errno_error_of(errno, std::move(context), std::move(remedy));
}

}  // namespace stackmap
