// SPDX-License-Identifier: Apache-2.0
// What libbpf prints, kept for the error message; shown as it comes with --verbose. Process-wide, as libbpf's own hook
// is. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace stackmap {

enum class LibbpfLog : uint8_t { kShown, kKept };

void capture_bpf_log(LibbpfLog log);
// The last few lines, as one, and forgets them.
std::string take_bpf_log();

}  // namespace stackmap
