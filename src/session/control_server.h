// SPDX-License-Identifier: Apache-2.0
// Serves the commands of a control socket, from within the recording's own loop: nothing here blocks, and no client can
// hold the recording up, make it grow, or keep a generation for ever.
//
//   reset     ends the generation; the next one begins. What was in the rings by then belongs to the one that ends.
//   off       no cookies any more; the map stays
//   on        cookies again; after free with a new map, of the next generation
//   free      drops the map; refused while it is on. Answers when its last `map` reader has closed its connection.
//   stat      the text of the kernel's stack_map_stat; empty while there is no map
//   map       the text of the kernel's stack_map, likewise. Its reader counts as one until it closes its connection.
//   snapshot  writes all that is pending, or what a flight recorder holds, and then answers with the capture's path
//   stop      ends the recording
//
// Limits: kMaxClients at a time, more are refused; a client that neither sends nor takes anything for kPatienceNs is
// dropped, except one that waits for its `free` or `snapshot`. Not thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "session/control_socket.h"
#include "stackmap/stack_map.h"
#include "store/snapshots.h"

namespace stackmap {

// What the server controls.
class ControlTarget {
 public:
  virtual ~ControlTarget() = default;
  virtual Result<void> reset() = 0;
  virtual Result<void> on() = 0;
  virtual Result<void> off() = 0;
  // Drops the map. What it returns expires when its last reader has let go.
  virtual Result<std::weak_ptr<const Generation>> free() = 0;
  virtual std::string stat() = 0;
  virtual std::shared_ptr<const Generation> map() = 0;
  virtual std::string frame_text(uint64_t address) = 0;
  // What is pending, or what a flight recorder holds, is written to a capture.
  virtual Result<std::shared_ptr<const SnapshotAnswer>> snapshot() = 0;
  virtual void stop() = 0;
};

class ControlServer {
 public:
  static constexpr size_t kMaxClients = 16;
  static constexpr uint64_t kPatienceNs = 10000000000;

  // CLOCK_MONOTONIC in nanoseconds.
  using Clock = uint64_t (*)();

  // The target must outlive the server. Another clock is for tests of the patience.
  static Result<std::unique_ptr<ControlServer>> create(ControlSocket socket, ControlTarget& target,
                                                       Clock clock = monotonic_ns);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // Readable when there is something to do.
  int epoll_fd() const { return epoll_.get(); }
  void serve();
  // Answers whoever waits for what has happened meanwhile.
  void finish_waiting();

 private:
  struct Client;
  using Clients = std::list<Client>;

  ControlServer(ControlSocket socket, ControlTarget& target, Clock clock);
  // Tells epoll of a descriptor, or what else to watch it for.
  Result<void> watch(int fd, uint32_t events, void* who);
  Result<void> watch_for(Client& client, uint32_t events);
  void accept_clients();
  bool handle(Client& client, uint32_t events);  // false: drop it
  bool read_command(Client& client);
  void run_command(Client& client, std::string_view line);
  bool write_answer(Client& client);
  void fill_map(Client& client);
  void drop_idle();

  ControlSocket socket_;
  ControlTarget& target_;
  Clock clock_;
  Fd epoll_;
  Fd timer_;
  Clients clients_;
};

}  // namespace stackmap
