// SPDX-License-Identifier: Apache-2.0
#include "session/control_server.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"
#include "session/control_line.h"

namespace stackmap {

namespace {

constexpr size_t kFill = size_t{64} << 10;

// The peer must be root, or the user that records.
bool is_allowed(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == 0 || peer.uid == ::geteuid());
}

}  // namespace

struct ControlServer::Client {
  Fd fd;
  ControlLine in;
  std::string out;
  size_t sent = 0;
  bool answered = false;                      // a command was taken; what comes after it is not read
  bool finished = false;                      // all is sent; only its end of the connection is open
  std::shared_ptr<const Generation> reading;  // of `map`: held until the connection is closed
  uint32_t next_slot = 0;
  bool waiting = false;  // for `free` or `snapshot`
  std::weak_ptr<const Generation> waited_for;
  std::shared_ptr<const SnapshotAnswer> snapshot;
  uint64_t last_ns = 0;  // when it last sent or took something
};

ControlServer::ControlServer(ControlSocket socket, ControlTarget& target, Clock clock)
    : socket_(std::move(socket)), target_(target), clock_(clock) {}
ControlServer::~ControlServer() = default;

Result<void> ControlServer::watch(int fd, uint32_t events, void* who) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = who;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0
             ? Result<void>()
             : Result<void>(errno_error("cannot watch a descriptor"));
}

Result<void> ControlServer::watch_for(Client& client, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &client;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, client.fd.get(), &event) == 0
             ? Result<void>()
             : Result<void>(errno_error("cannot watch a descriptor"));
}

Result<std::unique_ptr<ControlServer>> ControlServer::create(ControlSocket socket, ControlTarget& target, Clock clock) {
  std::unique_ptr<ControlServer> server(new ControlServer(std::move(socket), target, clock));
  server->epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  server->timer_ = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const itimerspec every_second = {{1, 0}, {1, 0}};
  if (!server->epoll_.valid() || !server->timer_.valid() ||
      ::timerfd_settime(server->timer_.get(), 0, &every_second, nullptr) != 0) {
    return errno_error("cannot set up the control socket");
  }
  STACKMAP_TRY(server->watch(server->socket_.fd(), EPOLLIN, &server->socket_));
  STACKMAP_TRY(server->watch(server->timer_.get(), EPOLLIN, &server->timer_));
  return server;
}

void ControlServer::accept_clients() {
  for (;;) {
    Fd fd(::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      return;
    }
    std::string_view refusal;
    if (clients_.size() >= kMaxClients) {
      refusal = "error too many clients at a time\n";
    } else if (!is_allowed(fd.get())) {
      refusal = "error not allowed: be root, or the user that records\n";
    }
    if (!refusal.empty()) {
      // One that does not take it in one go will see the end of the connection.
      (void)::send(fd.get(), refusal.data(), refusal.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      continue;
    }
    Client& client = clients_.emplace_back();
    client.fd = std::move(fd);
    client.last_ns = clock_();
    if (!watch(client.fd.get(), EPOLLIN | EPOLLRDHUP, &client)) {
      clients_.pop_back();
    }
  }
}

void ControlServer::serve() {
  std::array<epoll_event, kMaxClients + 2> events;
  const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < n; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.ptr == &socket_) {
      accept_clients();
    } else if (event.data.ptr == &timer_) {
      uint64_t expirations = 0;
      (void)!::read(timer_.get(), &expirations, sizeof(expirations));
      drop_idle();
    } else {
      auto* client = static_cast<Client*>(event.data.ptr);
      // A client of an earlier event of this round may be gone.
      const auto it = std::find_if(clients_.begin(), clients_.end(), [&](const Client& c) { return &c == client; });
      if (it != clients_.end() && !handle(*client, event.events)) {
        clients_.erase(it);
      }
    }
  }
  finish_waiting();
}

bool ControlServer::handle(Client& client, uint32_t events) {
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
    return false;
  }
  client.last_ns = clock_();
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0 && !read_command(client)) {
    return false;
  }
  return write_answer(client);
}

// Reads until there is a whole line. False if the client has closed its end, or does not keep to the protocol.
bool ControlServer::read_command(Client& client) {
  char bytes[1024];
  for (;;) {
    const ssize_t n = ::recv(client.fd.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n == 0) {
      return false;
    }
    if (n < 0) {
      return errno == EAGAIN || errno == EINTR;
    }
    if (client.answered) {
      continue;  // one command a connection
    }
    const ControlLine::State state = client.in.feed({bytes, static_cast<size_t>(n)});
    if (state == ControlLine::State::kWhole) {
      client.answered = true;
      run_command(client, client.in.text());
    } else if (state == ControlLine::State::kTooLong) {
      client.answered = true;
      client.out = fmt::format("error a command has at most {} bytes\n", kMaxControlLine);
    }
  }
}

void ControlServer::run_command(Client& client, std::string_view line) {
  const auto command = parse_control_command(line);
  if (!command) {
    client.out = "error no such command: " + printable(line) + "\n";
    return;
  }
  const auto answer = [&](const Result<void>& done) {
    client.out = done ? "ok\n" : "error " + printable(done.error().message()) + "\n";
  };
  switch (*command) {
    case ControlCommand::kReset:
      return answer(target_.reset());
    case ControlCommand::kOn:
      return answer(target_.on());
    case ControlCommand::kOff:
      return answer(target_.off());
    case ControlCommand::kStat:
      client.out = "ok\n" + target_.stat();
      return;
    case ControlCommand::kMap:
      client.out = "ok\n";
      client.reading = target_.map();
      return;
    case ControlCommand::kFree: {
      auto freed = target_.free();
      if (!freed) {
        return answer(std::move(freed).error());
      }
      client.waiting = true;
      client.waited_for = std::move(freed).value();
      return;
    }
    case ControlCommand::kSnapshot: {
      auto snapshot = target_.snapshot();
      if (!snapshot) {
        return answer(std::move(snapshot).error());
      }
      client.waiting = true;
      client.snapshot = std::move(snapshot).value();
      return;
    }
    case ControlCommand::kStop:
      target_.stop();
      return answer({});
  }
}

// Some more of the map's text, so that a large map is never held as a whole.
void ControlServer::fill_map(Client& client) {
  const Generation& generation = *client.reading;
  while (client.out.size() < kFill && client.next_slot < generation.slot_count()) {
    const auto stored = generation.record_at(client.next_slot++);
    if (!stored) {
      continue;
    }
    client.out += fmt::format("stack_id {} gen {} ref {} depth {}\n", stored->slot, generation.number(), stored->ref,
                              stored->frames.size());
    for (const uint64_t frame : stored->frames) {
      client.out += " => " + printable(target_.frame_text(frame)) + "\n";
    }
  }
}

bool ControlServer::write_answer(Client& client) {
  if (!client.answered || client.waiting || client.finished) {
    return true;
  }
  for (;;) {
    if (client.sent == client.out.size()) {
      client.out.clear();
      client.sent = 0;
      if (client.reading != nullptr) {
        fill_map(client);
      }
      if (client.out.empty()) {
        // A map reader holds its generation until it closes its end.
        client.finished = true;
        (void)::shutdown(client.fd.get(), SHUT_WR);
        return client.reading != nullptr && watch_for(client, EPOLLIN | EPOLLRDHUP).ok();
      }
    }
    const ssize_t n = ::send(client.fd.get(), client.out.data() + client.sent, client.out.size() - client.sent,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
      return errno == EAGAIN && watch_for(client, EPOLLIN | EPOLLOUT | EPOLLRDHUP).ok();
    }
    client.sent += static_cast<size_t>(n);
  }
}

// Answers each `free` whose map has lost its last reader, and each `snapshot` that is written.
void ControlServer::finish_waiting() {
  for (auto it = clients_.begin(); it != clients_.end();) {
    const bool done = it->snapshot != nullptr ? it->snapshot->done : it->waited_for.expired();
    if (it->waiting && done) {
      it->waiting = false;
      it->out = "ok\n";
      if (it->snapshot != nullptr) {
        const Result<std::string>& path = it->snapshot->path;
        it->out = path ? "ok\n" + *path + (it->snapshot->named ? "\nnamed\n" : "\n")
                       : "error " + printable(path.error().message()) + "\n";
      }
      if (!write_answer(*it)) {
        it = clients_.erase(it);
        continue;
      }
    }
    ++it;
  }
}

void ControlServer::drop_idle() {
  const uint64_t now = clock_();
  std::erase_if(clients_, [&](const Client& client) { return !client.waiting && now - client.last_ns > kPatienceNs; });
}

}  // namespace stackmap
