// SPDX-License-Identifier: Apache-2.0
// Where a command's data goes: -o FILE, or stdout.
#pragma once

#include <functional>
#include <string>

#include "base/file.h"
#include "base/result.h"

namespace stackmap {

// Runs `write` with a writer for `path` ("" or "-": stdout). A file comes into place whole or not at all; one that
// exists is refused unless `force`. A reader of stdout that goes away early is no error.
Result<void> write_output(const std::string& path, bool force, const std::function<Result<void>(TextWriter&)>& write);

// Whether a file of that name would be overwritten: kExists, with what to do.
Result<void> refuse_existing(const std::string& path);

}  // namespace stackmap
