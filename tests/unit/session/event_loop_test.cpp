// SPDX-License-Identifier: Apache-2.0
#include "session/event_loop.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "base/clock.h"
#include "support/catch.h"

using namespace stackmap;

namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    read = Fd(ends[0]);
    write = Fd(ends[1]);
  }
  void put() const { REQUIRE(::write(write.get(), "x", 1) == 1); }
  void take() const {
    char byte = 0;
    REQUIRE(::read(read.get(), &byte, 1) == 1);
  }
  Fd read;
  Fd write;
};

}  // namespace

TEST_CASE("a handler is called for as long as its descriptor is readable, and others meanwhile") {
  EventLoop loop;
  REQUIRE(loop.open());
  const Pipe first;
  const Pipe second;
  std::string order;
  REQUIRE(loop.watch(first.read.get(), [&]() -> Result<void> {
    order += "1";
    first.take();
    second.put();
    return {};
  }));
  REQUIRE(loop.watch(second.read.get(), [&]() -> Result<void> {
    order += "2";
    second.take();
    if (order.size() == 4) {
      loop.stop();
    }
    return {};
  }));
  first.put();
  first.put();
  REQUIRE(loop.run());
  CHECK(std::count(order.begin(), order.end(), '1') == 2);
  CHECK(std::count(order.begin(), order.end(), '2') == 2);
}

TEST_CASE("an error of a handler ends the loop, and is its result") {
  EventLoop loop;
  REQUIRE(loop.open());
  const Pipe pipe;
  REQUIRE(loop.watch(pipe.read.get(), []() -> Result<void> { return make_error(ErrorKind::kFailed, "broken"); }));
  pipe.put();
  CHECK(loop.run().error().context == "broken");
}

TEST_CASE("timers come when they are due: once, or again and again") {
  EventLoop loop;
  REQUIRE(loop.open());
  const uint64_t began = monotonic_ns();
  constexpr uint64_t kEvery = 2000000;
  int ticks = 0;
  int once = 0;
  REQUIRE(loop.once(0, [&]() -> Result<void> {
    ++once;
    return {};
  }));
  REQUIRE(loop.every(kEvery, [&]() -> Result<void> {
    if (++ticks == 5) {
      loop.stop();
    }
    return {};
  }));
  REQUIRE(loop.run());
  CHECK(once == 1);
  // A loop that was kept waiting misses ticks; none comes early.
  CHECK(monotonic_ns() - began >= 5 * kEvery);
}

TEST_CASE("signals are handled in the loop, one after the other") {
  EventLoop loop;
  REQUIRE(loop.open());
  std::vector<int> signals;
  REQUIRE(loop.on_signals({SIGUSR1, SIGUSR2}, [&](int signal) -> Result<void> {
    signals.push_back(signal);
    if (signals.size() == 2) {
      loop.stop();
    }
    return {};
  }));
  REQUIRE(::raise(SIGUSR2) == 0);  // blocked: it waits for the loop
  REQUIRE(::raise(SIGUSR1) == 0);
  CHECK(signals.empty());
  REQUIRE(loop.run());
  std::ranges::sort(signals);
  CHECK(signals == std::vector<int>{SIGUSR1, SIGUSR2});
}

TEST_CASE("every handler is called through what was set") {
  EventLoop loop;
  REQUIRE(loop.open());
  const Pipe pipe;
  bool inside = false;
  REQUIRE(loop.watch(pipe.read.get(), [&]() -> Result<void> {
    CHECK(inside);
    loop.stop();
    return {};
  }));
  loop.call_through([&](const EventLoop::Handler& handler) {
    inside = true;
    auto handled = handler();
    inside = false;
    return handled;
  });
  pipe.put();
  REQUIRE(loop.run());
  CHECK_FALSE(inside);
}

TEST_CASE("what cannot be watched is an error") {
  EventLoop loop;
  REQUIRE(loop.open());
  CHECK_FALSE(loop.watch(-1, [] { return Result<void>(); }));
}
