// SPDX-License-Identifier: Apache-2.0
// What every command that reads a capture does around its work: open it, lend it names, and say at the end what is
// wrong with it, since reading the events can find more.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/result.h"
#include "capture/capture.h"
#include "name_options.h"
#include "options.h"
#include "profile/lent_names.h"
#include "profile/profile.h"

namespace stackmap {

// The files that the inputs mean, opened as one capture.
Result<Capture> open_capture(const Inputs& inputs);

// Says on stderr what is wrong with the capture, if anything is.
void tell_damage(const Capture& capture);

// Names are those that were asked for, or null. The work is only done if both could be opened; the exit code is kDone.
Result<int> with_capture(const Inputs& inputs, const NameOptions& names,
                         const std::function<Result<void>(const Capture&, const LentNames*)>& work);

// What the commands that show a profile have in common.
struct ProfileOptions {
  FilterOptions filter;
  WeightOptions weight;
  NameOptions names;

  void add_to(CLI::App& command);
  // The profile, with its title and losses. `lent` may be null.
  Result<Profile> make(const Capture& capture, const LentNames* lent) const;
};

}  // namespace stackmap
