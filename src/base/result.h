// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or an Error that says what failed, on what, and why.
//
// Every recoverable failure is returned as one of these; input bytes are never an invariant. A broken invariant is an
// assert. Exceptions come only from the standard library and CLI11 and are caught in main().
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace stackmap {

// What kind of failure it is. The command maps a kind to its exit code (tools/exit_code.h).
enum class ErrorKind : uint8_t {
  kFailed,       // it was tried and did not work
  kUsage,        // the caller asked for something that cannot be asked for
  kPrivilege,    // the privilege is missing
  kUnsupported,  // the kernel or the machine lacks it
  kNotFound,     // no such file, task, event
  kExists,       // it is there already and would be overwritten
  kCorrupt,      // input bytes that are not what they claim to be
  // The command to be run, as a shell tells them apart.
  kCommandNotFound,
  kCannotExecute,
};

struct [[nodiscard]] Error {
  ErrorKind kind = ErrorKind::kFailed;
  int errnum = 0;       // errno of the failed call; 0 if no call failed
  std::string context;  // what was tried, on what; one sentence, no full stop
  std::string remedy;   // what to do about it; may be empty

  // "CONTEXT: ERRNO IN WORDS; REMEDY", on one line.
  std::string message() const;

  // Puts "what: " before the context.
  Error&& within(const std::string& what) &&;
};

// An error from errno as it stands (or from `errnum`). EPERM and EACCES become kPrivilege, ENOENT and ESRCH kNotFound,
// EEXIST kExists, the rest kFailed.
Error errno_error(std::string context, std::string remedy = {});
Error errno_error_of(int errnum, std::string context, std::string remedy = {});

inline Error make_error(ErrorKind kind, std::string context, std::string remedy = {}) {
  return Error{kind, 0, std::move(context), std::move(remedy)};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return check(), *std::get_if<0>(&state_); }
  const T& value() const& { return check(), *std::get_if<0>(&state_); }
  T&& value() && { return check(), std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Error& error() & { return assert(!ok()), *std::get_if<1>(&state_); }
  const Error& error() const& { return assert(!ok()), *std::get_if<1>(&state_); }
  Error&& error() && { return assert(!ok()), std::move(*std::get_if<1>(&state_)); }

 private:
  void check() const { assert(ok()); }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  Error& error() & { return assert(!ok_), error_; }
  const Error& error() const& { return assert(!ok_), error_; }
  Error&& error() && { return assert(!ok_), std::move(error_); }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace stackmap

// Returns the error of a Result from the enclosing function. The name is unique, since the expression may hold another
// one.
// NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared cannot have any.
#define STACKMAP_TRY(expression) STACKMAP_TRY_AS(STACKMAP_JOIN(result_, __COUNTER__), expression)
#define STACKMAP_TRY_AS(name, expression)  \
  do {                                     \
    if (auto name = (expression); !name) { \
      return std::move(name).error();      \
    }                                      \
  } while (false)
#define STACKMAP_JOIN(a, b) STACKMAP_JOIN_NOW(a, b)
#define STACKMAP_JOIN_NOW(a, b) a##b

// Declares `name` from the value of a Result, or returns its error.
#define STACKMAP_TRY_VALUE(name, expression) \
  auto name##_result = (expression);         \
  if (!name##_result) {                      \
    return std::move(name##_result).error(); \
  }                                          \
  auto name = std::move(name##_result).value()
// NOLINTEND(bugprone-macro-parentheses)
