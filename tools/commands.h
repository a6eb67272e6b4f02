// SPDX-License-Identifier: Apache-2.0
// One function a command: declares its options, and sets what runs when it is chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/result.h"

namespace stackmap {

// What the chosen command does; its exit code, or the error that main() prints.
using Action = std::function<Result<int>()>;

void add_check(CLI::App& app, Action& action);
void add_ctl(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_flame(CLI::App& app, Action& action);
void add_import(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_map(CLI::App& app, Action& action);
void add_record(CLI::App& app, Action& action);
void add_recover(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_script(CLI::App& app, Action& action);
void add_stat(CLI::App& app, Action& action);

}  // namespace stackmap
