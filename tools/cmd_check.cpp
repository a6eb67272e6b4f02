// SPDX-License-Identifier: Apache-2.0
// stackmap check: what this kernel offers, what is missing, and the remedy.
#include "collector/kernel_check.h"

#include <fmt/format.h>

#include "commands.h"
#include "exit_code.h"
#include "output.h"
#include "session/event_selection.h"

namespace stackmap {

namespace {

std::string_view mark(CheckItem::State state) {
  switch (state) {
    case CheckItem::State::kOk:
      return "ok";
    case CheckItem::State::kReduced:
      return "less";
    case CheckItem::State::kMissing:
      return "missing";
  }
  return "?";
}

Result<int> check() {
  bool possible = true;
  const auto items = check_kernel([](const auto& available) { return select_events({}, available); });
  STACKMAP_TRY(write_stdout([&](TextWriter& out) -> Result<void> {
    for (const CheckItem& item : items) {
      possible = possible && item.state != CheckItem::State::kMissing;
      out.write(fmt::format("{:<8} {:<32} {}\n", mark(item.state), item.what, item.detail));
    }
    out.write(possible ? "recording is possible\n" : "recording is not possible here\n");
    return {};
  }));
  return possible ? kDone : kNotPossibleHere;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("check", "What this kernel offers, and what is missing");
  command->callback([&action] { action = [] { return check(); }; });
}

}  // namespace stackmap
