// SPDX-License-Identifier: Apache-2.0
// All that a capture says of itself as text, for tests that compare it; the anchors aside, of which a recorder adds
// more as it goes.
#pragma once

#include <fmt/format.h>

#include <string>

#include "capture/capture.h"

namespace stackmap_test {

inline std::string told(const stackmap::CaptureInfo& info) {
  const stackmap::HostInfo& host = info.host;
  return fmt::format(
      "kernel {} | {} on {}, boot {}, build {}\npages of {}, {} CPUs\ntool {} | {}, symbols {}\n"
      "capacity {}, depth {}, ring {}\nsession {}, segment {}\n",
      host.kernel_release, host.kernel_version, host.machine, host.boot_id, host.kernel_build_id, host.page_size,
      host.cpus_possible, info.tool, info.command, info.symbol_source, info.map_capacity, info.max_depth,
      info.ring_bytes, info.session, info.segment);
}

}  // namespace stackmap_test
