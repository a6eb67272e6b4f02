// SPDX-License-Identifier: Apache-2.0
#include "process/host.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/text.h"

namespace stackmap {

namespace {

constexpr size_t kSmallFile = size_t{1} << 20;

// A file that may be missing; without the white space at its end.
std::string read_optional(const std::string& path) {
  auto text = read_text_file(path, kSmallFile);
  if (!text) {
    return {};
  }
  while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) {
    text->pop_back();
  }
  return std::move(*text);
}

// The highest number of a CPU list ("0-3,8-11"), plus one. Nothing if it is no such list.
std::optional<uint32_t> cpu_limit(std::string_view list) {
  uint64_t limit = 0;
  for (const std::string_view range : split(list, ',')) {
    for (const std::string_view number : split(range, '-')) {
      const auto cpu = parse_uint(number);
      if (!cpu || *cpu >= UINT32_MAX) {
        return std::nullopt;
      }
      limit = std::max(limit, *cpu + 1);
    }
  }
  return static_cast<uint32_t>(limit);
}

uint32_t configured(int name) {
  const long value = ::sysconf(name);
  return value > 0 ? static_cast<uint32_t>(value) : 0;
}

}  // namespace

std::string find_build_id(std::string_view notes) {
  // A note: sizes of name and contents, type (32 bits each, this machine's byte order: little-endian), name, contents;
  // both padded to four bytes (ELF gABI, "Note Section"; GNU build-id is type 3).
  constexpr uint32_t kGnuBuildId = 3;
  ByteReader reader(bytes_of(notes));
  const auto padding = [](uint64_t size) { return (4 - size % 4) % 4; };
  while (!reader.at_end()) {
    const auto name_size = reader.fixed<uint32_t>();
    const auto contents_size = reader.fixed<uint32_t>();
    const auto type = reader.fixed<uint32_t>();
    const std::string_view name = reader.text(name_size);
    (void)reader.take(padding(name_size));
    const std::string_view contents = reader.text(contents_size);
    if (!reader.ok()) {
      return {};
    }
    if (type == kGnuBuildId && name == std::string_view("GNU\0", 4)) {
      std::string hex;
      for (const char c : contents) {
        hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
      }
      return hex;
    }
    (void)reader.take(padding(contents_size));
  }
  return {};
}

Result<HostInfo> read_host_info(const std::string& root) {
  utsname names{};
  if (::uname(&names) != 0) {
    return errno_error("cannot ask the kernel for its name");
  }
  HostInfo info;
  info.kernel_release = names.release;
  info.kernel_version = names.version;
  info.machine = names.machine;
  info.boot_id = read_optional(root + "/proc/sys/kernel/random/boot_id");
  if (const auto notes = read_text_file(root + "/sys/kernel/notes", kSmallFile)) {
    info.kernel_build_id = find_build_id(*notes);
  }
  info.page_size = configured(_SC_PAGESIZE);
  const auto limit = cpu_limit(read_optional(root + "/sys/devices/system/cpu/possible"));
  info.cpus_possible = limit ? *limit : configured(_SC_NPROCESSORS_CONF);
  return info;
}

}  // namespace stackmap
