// SPDX-License-Identifier: Apache-2.0
#include "session/command.h"

#include <poll.h>

#include <csignal>

#include "support/catch.h"
#include "support/temp_tree.h"

using namespace stackmap;

namespace {

void wait_for_end(const Command& command) {
  pollfd ended = {command.pidfd(), POLLIN, 0};
  REQUIRE(::poll(&ended, 1, -1) == 1);
}

// Runs a shell's script to its end.
int status_of(const std::string& script) {
  auto command = Command::prepare({"sh", "-c", script});
  REQUIRE(command);
  REQUIRE(command->go());
  wait_for_end(*command);
  const auto status = command->stop();
  REQUIRE(status);
  return *status;
}

}  // namespace

TEST_CASE("a command that was held and not let go does nothing") {
  const TempTree tree;
  const std::string file = tree.path("began");
  {
    auto command = Command::prepare({"touch", file});
    REQUIRE(command);
  }
  CHECK_FALSE(std::filesystem::exists(file));  // its child has been waited for
}

TEST_CASE("how it ended is told as a shell would") {
  CHECK(Command::exit_code(status_of("exit 0")) == 0);
  CHECK(Command::describe(status_of("exit 0")).empty());
  CHECK(Command::exit_code(status_of("exit 42")) == 42);
  CHECK(Command::describe(status_of("exit 42")) == "ended with 42");
  const int killed = status_of("kill -TERM $$");
  CHECK(Command::exit_code(killed) == 128 + SIGTERM);
  CHECK(Command::describe(killed) == "was killed by SIGTERM");
}

TEST_CASE("one that is still running is ended, and has no status of its own") {
  auto command = Command::prepare({"sleep", "1000"});
  REQUIRE(command);
  REQUIRE(command->go());
  CHECK_FALSE(command->stop());
}

TEST_CASE("what cannot be run is told apart as in a shell") {
  const TempTree tree;
  const auto error_of = [](const std::string& name) {
    auto command = Command::prepare({name});
    REQUIRE(command);
    const auto ran = command->go();
    REQUIRE_FALSE(ran);
    CHECK(ran.error().context == "cannot run " + name);
    return ran.error().kind;
  };
  CHECK(error_of(tree.path("nothing")) == ErrorKind::kCommandNotFound);
  CHECK(error_of("no-such-command-anywhere") == ErrorKind::kCommandNotFound);
  CHECK(error_of(tree.write("text", "no program")) == ErrorKind::kCannotExecute);
  CHECK(error_of(tree.root()) == ErrorKind::kCannotExecute);
}

TEST_CASE("its signals are as if nobody had touched them") {
  sigset_t set;
  sigset_t before;
  (void)::sigemptyset(&set);
  (void)::sigaddset(&set, SIGTERM);
  REQUIRE(::sigprocmask(SIG_BLOCK, &set, &before) == 0);
  CHECK(Command::exit_code(status_of("kill -TERM $$")) == 128 + SIGTERM);
  REQUIRE(::sigprocmask(SIG_SETMASK, &before, nullptr) == 0);
}
