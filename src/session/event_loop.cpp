// SPDX-License-Identifier: Apache-2.0
#include "session/event_loop.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace stackmap {

Result<void> EventLoop::open() {
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) {
    return errno_error("cannot make an epoll");
  }
  return {};
}

Result<void> EventLoop::add(Source source) {
  Source& added = sources_.emplace_back(std::move(source));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &added;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, added.fd, &event) != 0) {
    auto error = errno_error("cannot watch a descriptor");
    sources_.pop_back();
    return error;
  }
  return {};
}

Result<void> EventLoop::watch(int fd, Handler handler) {
  Source source;
  source.fd = fd;
  source.handler = std::move(handler);
  return add(std::move(source));
}

Result<void> EventLoop::add_timer(uint64_t first_ns, uint64_t every_ns, Handler handler) {
  Source source;
  source.owned = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const auto spec = [](uint64_t ns) {
    return timespec{static_cast<time_t>(ns / 1000000000U), static_cast<long>(ns % 1000000000U)};
  };
  const itimerspec when = {spec(every_ns), spec(first_ns != 0 ? first_ns : 1)};
  if (!source.owned.valid() || ::timerfd_settime(source.owned.get(), 0, &when, nullptr) != 0) {
    return errno_error("cannot set a timer");
  }
  source.fd = source.owned.get();
  source.timer = true;
  source.once = every_ns == 0;
  source.handler = std::move(handler);
  return add(std::move(source));
}

Result<void> EventLoop::every(uint64_t ns, Handler handler) {
  return add_timer(ns, ns, std::move(handler));
}

Result<void> EventLoop::once(uint64_t ns, Handler handler) {
  return add_timer(ns, 0, std::move(handler));
}

Result<void> EventLoop::on_signals(const std::vector<int>& signals, std::function<Result<void>(int)> handler) {
  sigset_t set;
  (void)sigemptyset(&set);
  for (const int signal : signals) {
    (void)sigaddset(&set, signal);
  }
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) {
    return errno_error("cannot block signals");
  }
  Source source;
  source.owned = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!source.owned.valid()) {
    return errno_error("cannot open a signalfd");
  }
  source.fd = source.owned.get();
  source.handler = [fd = source.fd, handler = std::move(handler)]() -> Result<void> {
    signalfd_siginfo info{};
    while (::read(fd, &info, sizeof(info)) == sizeof(info)) {
      STACKMAP_TRY(handler(static_cast<int>(info.ssi_signo)));
    }
    return {};
  };
  return add(std::move(source));
}

Result<void> EventLoop::run() {
  while (!stopped_) {
    std::array<epoll_event, 8> events;
    const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
    if (n < 0 && errno != EINTR) {
      return errno_error("cannot wait for events");
    }
    for (int i = 0; i < n && !stopped_; ++i) {
      auto* const source = static_cast<Source*>(events[static_cast<size_t>(i)].data.ptr);
      if (source->timer) {
        uint64_t expirations = 0;
        (void)!::read(source->fd, &expirations, sizeof(expirations));
      }
      auto handled = call_ ? call_(source->handler) : source->handler();
      if (source->once) {
        // Its descriptor goes with it, and leaves the epoll.
        sources_.remove_if([&](const Source& s) { return &s == source; });
      }
      STACKMAP_TRY(std::move(handled));
    }
  }
  return {};
}

}  // namespace stackmap
