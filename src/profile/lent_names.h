// SPDX-License-Identifier: Apache-2.0
// Names for addresses that a capture does not name itself, from a file that was saved on the host it was recorded on: a
// /proc/kallsyms, or a System.map. The capture's own names come first; this is asked only where it has none.
//
// A kernel puts itself at another address at every boot, so a list of symbols is of one boot. It is lent to a capture
// only if it is shown to be of that boot:
// - Every name of the kernel itself that the capture has must be in the file, at that address, with that offset and,
//   but for a System.map, that size. Of modules and BPF programs, which come and go, the file may know nothing; what it
//   does name must be the same.
// - If the capture has fewer than kEnough names of the kernel itself, that cannot tell, and the file's boot id must be
//   known and be the capture's.
// - A boot id that is known and is another one is refused, whatever the names say.
// A System.map has the addresses of the kernel before it was moved: the distance is taken from the capture's names, and
// must then hold for all of them. It is of one kernel and not of a boot, so a boot id does not vouch for it.
//
// Every address is a return address, named as "%pB" names it. Not thread-safe: names are remembered as they are asked
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "capture/capture.h"
#include "symbolize/kallsyms.h"

namespace stackmap {

class LentNames {
 public:
  // Fewer names than this can agree by chance: they may all lie in one function.
  static constexpr size_t kEnough = 4;

  // `boot_id` is the file's, empty if it is not known. kFailed, with the numbers, if the file is not shown to be of the
  // capture's boot.
  static Result<std::unique_ptr<LentNames>> from_kallsyms(const Capture& capture, Kallsyms symbols,
                                                          std::string_view boot_id);
  // `text` is that of the file called `name`.
  static Result<std::unique_ptr<LentNames>> from_system_map(const Capture& capture, std::string_view text,
                                                            const std::string& name);

  // Null if the file does not name it. Valid as long as this is.
  const KernelSymbol* find(uint64_t address) const;

 private:
  struct Named {
    uint64_t address = 0;
    const KernelSymbol* symbol = nullptr;
  };
  enum class Sizes : uint8_t { kCompared, kLeftOut };

  LentNames(Kallsyms symbols, uint64_t moved_by) : symbols_(std::move(symbols)), moved_by_(moved_by) {}
  static Result<void> refuse_unfit(const Capture& capture, const std::string& file);
  static std::vector<Named> own_names(const Capture& capture);
  Result<void> compare(const std::vector<Named>& names, Sizes sizes);
  KernelSymbol look_up(uint64_t address) const;

  Kallsyms symbols_;
  uint64_t moved_by_;  // what is added to the file's addresses, modulo 2^64
  size_t agreed_ = 0;  // names of the kernel itself that the capture and the file have alike
  mutable std::unordered_map<uint64_t, KernelSymbol> found_;
};

}  // namespace stackmap
