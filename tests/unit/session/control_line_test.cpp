// SPDX-License-Identifier: Apache-2.0
#include "session/control_line.h"

#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"

using namespace stackmap;
using State = ControlLine::State;

TEST_CASE("a control line is whole when its end has come", "[control_line]") {
  ControlLine line;
  CHECK(line.feed("sta") == State::kPartial);
  CHECK(line.feed("t\nmore") == State::kWhole);
  CHECK(line.text() == "stat");
  CHECK(line.feed("x\n") == State::kWhole);
  CHECK(line.text() == "stat");
}

TEST_CASE("a control line has 256 bytes at most", "[control_line]") {
  ControlLine longest;
  CHECK(longest.feed(std::string(256, 'x')) == State::kPartial);
  CHECK(longest.feed("\n") == State::kWhole);
  CHECK(longest.text().size() == 256);
  ControlLine longer;
  CHECK(longer.feed(std::string(256, 'x')) == State::kPartial);
  CHECK(longer.feed("y") == State::kTooLong);
  CHECK(longer.feed("\nstop\n") == State::kTooLong);
  ControlLine at_once;
  CHECK(at_once.feed(std::string(257, 'x') + "\n") == State::kTooLong);
}

TEST_CASE("a control command is its word alone", "[control_line]") {
  const std::vector<std::pair<std::string, ControlCommand>> commands = {
      {"reset", ControlCommand::kReset},       {"on", ControlCommand::kOn},    {"off", ControlCommand::kOff},
      {"stat", ControlCommand::kStat},         {"map", ControlCommand::kMap},  {"free", ControlCommand::kFree},
      {"snapshot", ControlCommand::kSnapshot}, {"stop", ControlCommand::kStop}};
  for (const auto& [word, command] : commands) {
    CHECK(parse_control_command(word) == command);
  }
  for (const char* other : {"", "reset ", " reset", "Reset", "rese", "resets", "stat\r"}) {
    CHECK_FALSE(parse_control_command(other));
  }
}
