// SPDX-License-Identifier: Apache-2.0
// The kernel's list of tracepoints. Uses tracefs where it is mounted; where it is not, a mount of its own that nobody
// else sees and that goes with the process. Changes nothing. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "record/tracepoint.h"

namespace stackmap {

class TraceFs {
 public:
  // kPrivilege or kUnsupported with what to do, if it can neither be read nor mounted.
  static Result<TraceFs> open();
  // Any directory that has an `events` folder like tracefs's.
  static Result<TraceFs> open_at(const std::string& path);

  // Every tracepoint, sorted. Events that ftrace makes itself (category ftrace) are no tracepoints.
  Result<std::vector<Tracepoint>> tracepoints() const;
  // The number that perf_event_open() takes. kNotFound if this kernel has no such tracepoint.
  Result<uint64_t> id(std::string_view category, std::string_view name) const;
  // The text that tells of the fields of its records. kNotFound likewise.
  Result<std::string> format(std::string_view category, std::string_view name) const;

 private:
  Result<std::string> read(std::string_view category, std::string_view name, const char* file) const;
  explicit TraceFs(Fd events) : events_(std::move(events)) {}
  Fd events_;  // the folder `events`
};

}  // namespace stackmap
