// SPDX-License-Identifier: Apache-2.0
// What machine, kernel and boot this is: what a capture carries so that no other kernel's symbols are ever used for it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace stackmap {

struct HostInfo {
  std::string kernel_release;   // uname -r
  std::string kernel_version;   // uname -v
  std::string machine;          // uname -m
  std::string boot_id;          // /proc/sys/kernel/random/boot_id; empty if unreadable
  std::string kernel_build_id;  // lower-case hex of the GNU build-id note in /sys/kernel/notes; empty if there is none
  uint32_t page_size = 0;       // bytes
  uint32_t cpus_possible = 0;   // highest possible CPU number + 1
};

// `root` is put before /proc and /sys, for tests.
Result<HostInfo> read_host_info(const std::string& root = "");

// The first GNU build-id (type 3, name "GNU") of an ELF note section, in hex; empty if there is none or it is damaged.
std::string find_build_id(std::string_view notes);

}  // namespace stackmap
