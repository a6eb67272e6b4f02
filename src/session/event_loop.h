// SPDX-License-Identifier: Apache-2.0
// Waits for descriptors, timers and signals on one thread, and calls who is responsible. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace stackmap {

class EventLoop {
 public:
  // An error ends the loop.
  using Handler = std::function<Result<void>()>;

  Result<void> open();

  // Calls `handler` whenever `fd` is readable. The descriptor is the caller's and must outlive the loop.
  Result<void> watch(int fd, Handler handler);
  // Calls `handler` every `ns`.
  Result<void> every(uint64_t ns, Handler handler);
  // Calls `handler` once, `ns` from now.
  Result<void> once(uint64_t ns, Handler handler);
  // Calls `handler` with the number of each such signal. They are blocked in the calling thread, and stay blocked.
  Result<void> on_signals(const std::vector<int>& signals, std::function<Result<void>(int)> handler);

  // How handlers are called, if not just so.
  void call_through(std::function<Result<void>(const Handler&)> call) { call_ = std::move(call); }

  // Until stop(), or an error of a handler, which it returns.
  Result<void> run();
  void stop() { stopped_ = true; }

 private:
  struct Source {
    Fd owned;
    int fd = -1;
    bool timer = false;
    bool once = false;
    Handler handler;
  };
  Result<void> add(Source source);
  Result<void> add_timer(uint64_t first_ns, uint64_t every_ns, Handler handler);

  Fd epoll_;
  std::list<Source> sources_;  // a list: epoll holds their addresses
  std::function<Result<void>(const Handler&)> call_;
  bool stopped_ = false;
};

}  // namespace stackmap
