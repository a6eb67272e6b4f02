// SPDX-License-Identifier: Apache-2.0
// What libbpf prints, kept for the error message; shown as it comes with --verbose. Process-wide, as libbpf's own hook
// is. Thread-safe.
#pragma once

#include <string>

namespace stackmap {

void capture_bpf_log(bool verbose);
// The last few lines, as one, and forgets them.
std::string take_bpf_log();

}  // namespace stackmap
