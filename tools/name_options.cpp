// SPDX-License-Identifier: Apache-2.0
#include "name_options.h"

#include <unistd.h>

#include "base/fd.h"
#include "symbolize/kallsyms.h"

namespace stackmap {

namespace {

// The boot id of a saved or mounted /proc; empty if it is not there.
std::string boot_id_of(const std::string& sysroot) {
  const auto text = read_text_file(sysroot + "/proc/sys/kernel/random/boot_id", 4096);
  return text ? text->substr(0, text->find('\n')) : std::string();
}

Result<std::unique_ptr<LentNames>> from_kallsyms(const Capture& capture, const std::string& path,
                                                 const std::string& boot_id) {
  STACKMAP_TRY_VALUE(symbols, Kallsyms::load(path));
  return LentNames::from_kallsyms(capture, std::move(symbols), boot_id);
}

Result<std::unique_ptr<LentNames>> from_sysroot(const Capture& capture, const std::string& sysroot,
                                                const std::string& given_id) {
  const std::string kallsyms = sysroot + "/proc/kallsyms";
  if (::access(kallsyms.c_str(), F_OK) == 0) {
    return from_kallsyms(capture, kallsyms, given_id.empty() ? boot_id_of(sysroot) : given_id);
  }
  // The release becomes part of a path, and the capture is not trusted.
  const std::string& release = capture.info().host.kernel_release;
  const std::string map = sysroot + "/boot/System.map-" + release;
  if (release.empty() || release.find('/') != std::string::npos || ::access(map.c_str(), F_OK) != 0) {
    return make_error(ErrorKind::kNotFound, "there is neither " + kallsyms + " nor " + map);
  }
  STACKMAP_TRY_VALUE(text, read_text_file(map, Kallsyms::kMaxBytes));
  return LentNames::from_system_map(capture, text, map);
}

}  // namespace

void NameOptions::add_to(CLI::App& command) {
  auto* file = command.add_option("--kallsyms", kallsyms,
                                  "Names for what the capture does not name: /proc/kallsyms as saved in the same boot");
  file->type_name("FILE");
  command.add_option("--sysroot", sysroot, "The same from DIR/proc/kallsyms, or DIR/boot/System.map-RELEASE")
      ->type_name("DIR")
      ->excludes(file);
  command.add_option("--boot-id", boot_id, "The boot that the names are of, where the capture's own cannot tell")
      ->type_name("ID");
}

Result<std::unique_ptr<LentNames>> NameOptions::open(const Capture& capture) const {
  if (!kallsyms.empty()) {
    return from_kallsyms(capture, kallsyms, boot_id);
  }
  if (!sysroot.empty()) {
    return from_sysroot(capture, sysroot, boot_id);
  }
  if (!boot_id.empty()) {
    return make_error(ErrorKind::kUsage, "--boot-id says which boot --kallsyms or --sysroot is of; neither is given");
  }
  return std::unique_ptr<LentNames>();
}

}  // namespace stackmap
