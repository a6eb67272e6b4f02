// SPDX-License-Identifier: Apache-2.0
// --kallsyms, --sysroot, --boot-id: names for what a capture does not name itself (profile/lent_names.h).
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/result.h"
#include "capture/capture.h"
#include "profile/lent_names.h"

namespace stackmap {

struct NameOptions {
  std::string kallsyms;
  std::string sysroot;
  std::string boot_id;

  void add_to(CLI::App& command);
  bool asked() const { return !kallsyms.empty() || !sysroot.empty(); }
  // Null if none were asked for. An error if they are not of the capture's kernel and boot.
  Result<std::unique_ptr<LentNames>> open(const Capture& capture) const;
};

}  // namespace stackmap
