// SPDX-License-Identifier: Apache-2.0
// The control socket with real clients, all on one thread: what a client sends is there when serve() is called.
#include "session/control_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <list>
#include <vector>

#include "session/control_line.h"
#include "support/catch.h"
#include "support/temp_tree.h"

using namespace stackmap;

namespace {

uint64_t now_ns = 0;  // the server's clock

class Target final : public ControlTarget {
 public:
  Result<void> reset() override { return told("reset"); }
  Result<void> on() override { return told("on"); }
  Result<void> off() override { return told("off"); }
  Result<std::weak_ptr<const Generation>> free() override {
    STACKMAP_TRY(told("free"));
    std::weak_ptr<const Generation> last = generation_of_map;
    generation_of_map.reset();
    return last;
  }
  std::string stat() override { return "entries: 1\n"; }
  std::shared_ptr<const Generation> map() override { return generation_of_map; }
  std::string frame_text(uint64_t address) override { return "f" + std::to_string(address) + "\n"; }
  Result<std::shared_ptr<const SnapshotAnswer>> snapshot() override {
    STACKMAP_TRY(told("snapshot"));
    return std::shared_ptr<const SnapshotAnswer>(answer);
  }
  void stop() override { (void)told("stop"); }

  std::string commands;
  std::optional<Error> refuses;
  std::shared_ptr<const Generation> generation_of_map;
  std::shared_ptr<SnapshotAnswer> answer = std::make_shared<SnapshotAnswer>();

 private:
  Result<void> told(const std::string& command) {
    commands += command + " ";
    return refuses ? Result<void>(*refuses) : Result<void>();
  }
};

class Client {
 public:
  explicit Client(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    REQUIRE(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  }
  void send(const std::string& text) {
    REQUIRE(::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
  }
  // What is there now.
  std::string take() {
    std::string all;
    char bytes[4096];
    for (;;) {
      const ssize_t n = ::recv(fd_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
      if (n <= 0) {
        ended_ = n == 0 || errno != EAGAIN;
        return all;
      }
      all.append(bytes, static_cast<size_t>(n));
    }
  }
  bool ended() const { return ended_; }  // as of take()
  void close() { fd_.reset(); }

 private:
  Fd fd_;
  bool ended_ = false;
};

struct Served {
  Served() {
    now_ns = 1;
    auto socket = ControlSocket::listen(path);
    REQUIRE(socket);
    auto made = ControlServer::create(std::move(socket).value(), target, [] { return now_ns; });
    REQUIRE(made);
    server = std::move(made).value();
  }
  // Until nothing is left to do.
  void serve() const {
    pollfd ready = {server->epoll_fd(), POLLIN, 0};
    while (::poll(&ready, 1, 0) == 1) {
      server->serve();
    }
  }
  std::string ask(const std::string& text) {
    Client client(path);
    client.send(text);
    serve();
    std::string answer = client.take();
    CHECK(client.ended());
    return answer;
  }

  TempTree tree;
  std::string path = tree.path("s");
  Target target;
  std::unique_ptr<ControlServer> server;
};

// A map of `stacks` stacks of 20 frames.
std::unique_ptr<StackMap> filled_map(uint64_t stacks) {
  auto map = std::move(StackMap::create({})).value();
  auto session = map->pin();
  for (uint64_t i = 0; i < stacks; ++i) {
    std::vector<uint64_t> frames(20, i);
    REQUIRE(session.intern(frames).stored());
  }
  return map;
}

}  // namespace

TEST_CASE("each command is handed on, and answered when it is done") {
  Served served;
  CHECK(served.ask("reset\n") == "ok\n");
  CHECK(served.ask("off\n") == "ok\n");
  CHECK(served.ask("on\n") == "ok\n");
  CHECK(served.ask("stat\n") == "ok\nentries: 1\n");
  CHECK(served.ask("free\n") == "ok\n");  // nobody reads the map
  CHECK(served.ask("stop\n") == "ok\n");
  CHECK(served.target.commands == "reset off on free stop ");
}

TEST_CASE("what the recording refuses is told on one line") {
  Served served;
  served.target.refuses = make_error(ErrorKind::kFailed, "the map\nis on", "off first");
  for (const char* command : {"reset\n", "on\n", "off\n", "free\n", "snapshot\n"}) {
    const std::string answer = served.ask(command);
    INFO(command << answer);
    CHECK(answer.starts_with("error the map"));
    CHECK(answer.ends_with("is on; off first\n"));
    CHECK(std::count(answer.begin(), answer.end(), '\n') == 1);
  }
}

TEST_CASE("what is no command harms nobody") {
  Served served;
  CHECK(served.ask("dance\n") == "error no such command: dance\n");
  CHECK(served.ask("\n") == "error no such command: \n");
  CHECK(served.ask("reset now\n").starts_with("error no such command: reset now"));
  CHECK(served.ask(std::string(1000, 'x')) == "error a command has at most 256 bytes\n");
  const std::string answer = served.ask(std::string("\x1b[31m\0\xff", 7) + "\n");
  CHECK(answer.starts_with("error no such command: "));
  CHECK(answer.find('\x1b') == std::string::npos);
  CHECK(served.target.commands.empty());
}

TEST_CASE("a line may come in pieces, and what follows it is not read") {
  Served served;
  Client client(served.path);
  for (const char* piece : {"re", "se", "t\nstop\n"}) {
    CHECK(served.target.commands.empty());
    client.send(piece);
    served.serve();
  }
  CHECK(client.take() == "ok\n");
  CHECK(served.target.commands == "reset ");
}

TEST_CASE("a client that goes before its line is whole asked for nothing") {
  Served served;
  {
    Client client(served.path);
    client.send("stop");
  }
  served.serve();
  CHECK(served.target.commands.empty());
  CHECK(served.ask("on\n") == "ok\n");
}

TEST_CASE("the map's text is the kernel's, and names are made harmless") {
  Served served;
  const auto map = filled_map(1);
  served.target.generation_of_map = map->snapshot();
  Client client(served.path);
  client.send("map\n");
  served.serve();
  const std::string text = client.take();
  CHECK(text.starts_with("ok\nstack_id "));
  CHECK(text.find(" gen 1 ref 1 depth 20\n => f0") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2 + 20);
  Served empty;
  Client second(empty.path);
  second.send("map\n");
  empty.serve();
  CHECK(second.take() == "ok\n");
}

TEST_CASE("free answers when the last reader of the map has closed its connection") {
  Served served;
  auto map = filled_map(3);
  served.target.generation_of_map = map->snapshot();
  map.reset();
  Client reader(served.path);
  reader.send("map\n");
  served.serve();
  CHECK(reader.take().ends_with("\n"));
  CHECK(reader.ended());  // it has all, and counts as a reader all the same
  Client freer(served.path);
  freer.send("free\n");
  served.serve();
  CHECK(freer.take().empty());
  reader.close();
  served.serve();
  CHECK(freer.take() == "ok\n");
}

TEST_CASE("a map that is larger than a socket takes waits for its reader, and holds up nobody") {
  Served served;
  const auto map = filled_map(5000);
  served.target.generation_of_map = map->snapshot();
  Client reader(served.path);
  reader.send("map\n");
  served.serve();
  CHECK(served.ask("on\n") == "ok\n");
  std::string text;
  while (!reader.ended()) {
    text += reader.take();
    served.serve();
  }
  CHECK(std::count(text.begin(), text.end(), '\n') == 1 + 5000 * 21);
}

TEST_CASE("a snapshot answers when it is written, with its path or why there is none") {
  Served served;
  Client client(served.path);
  client.send("snapshot\n");
  served.serve();
  CHECK(client.take().empty());
  *served.target.answer = {true, std::string("/a/path.smc"), true};
  served.server->finish_waiting();
  CHECK(client.take() == "ok\n/a/path.smc\nnamed\n");
  served.target.answer = std::make_shared<SnapshotAnswer>();
  *served.target.answer = {true, std::string("/one.smc"), false};
  CHECK(served.ask("snapshot\n") == "ok\n/one.smc\n");
  *served.target.answer = {true, make_error(ErrorKind::kFailed, "no room"), true};
  CHECK(served.ask("snapshot\n") == "error no room\n");
}

TEST_CASE("too many clients are refused, and the others served") {
  Served served;
  std::list<Client> clients;
  for (size_t i = 0; i < ControlServer::kMaxClients; ++i) {
    clients.emplace_back(served.path);
    served.serve();
  }
  CHECK(served.ask("stop\n") == "error too many clients at a time\n");
  clients.back().send("on\n");
  served.serve();
  CHECK(clients.back().take() == "ok\n");
  CHECK(served.ask("off\n") == "ok\n");  // in the place of the one that was served
  CHECK(served.target.commands == "on off ");
}

TEST_CASE("an idle client is dropped when patience ends, one that waits for an answer is not") {
  Served served;
  Client idle(served.path);
  idle.send("re");
  Client waiting(served.path);
  waiting.send("snapshot\n");
  served.serve();
  const auto wait_for_look = [&] {  // the server looks once a second
    pollfd ready = {served.server->epoll_fd(), POLLIN, 0};
    REQUIRE(::poll(&ready, 1, -1) == 1);
    served.serve();
  };
  now_ns += ControlServer::kPatienceNs;
  wait_for_look();
  CHECK(idle.take().empty());
  CHECK_FALSE(idle.ended());
  now_ns += 1;
  wait_for_look();
  CHECK(idle.take().empty());
  CHECK(idle.ended());
  served.target.answer->done = true;
  served.server->finish_waiting();
  CHECK(waiting.take().starts_with("ok\n"));
}
