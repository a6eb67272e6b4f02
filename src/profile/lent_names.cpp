// SPDX-License-Identifier: Apache-2.0
#include "profile/lent_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

namespace stackmap {

namespace {

// Addresses of `name` in the text of a System.map; more than a few say nothing.
std::set<uint64_t> addresses_of(std::string_view text, std::string_view name) {
  constexpr size_t kMost = 8;
  std::set<uint64_t> addresses;
  const std::string end = fmt::format(" {}\n", name);
  for (size_t at = text.find(end); at != std::string_view::npos && addresses.size() < kMost;
       at = text.find(end, at + 1)) {
    const size_t line = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    const size_t start = line == std::string_view::npos ? 0 : line + 1;
    uint64_t address = 0;
    if (std::from_chars(text.data() + start, text.data() + at, address, 16).ec == std::errc()) {
      addresses.insert(address);
    }
  }
  return addresses;
}

}  // namespace

Result<void> LentNames::refuse_unfit(const Capture& capture, const std::string& file) {
  if (capture.ledger().has("import.events")) {
    return make_error(ErrorKind::kFailed, fmt::format("{} names nothing in {}", file, capture.name()),
                      "it was imported from text, and has no addresses of a kernel");
  }
  return {};
}

// In order of address, so that the same refusal has the same words.
std::vector<LentNames::Named> LentNames::own_names(const Capture& capture) {
  std::vector<Named> names;
  for (const auto& [frame, symbol] : capture.symbols()) {
    if (symbol->known() && symbol->size != KernelSymbol::kNameAlone) {
      names.push_back({capture.address(frame), symbol});
    }
  }
  std::ranges::sort(names, {}, &Named::address);
  return names;
}

KernelSymbol LentNames::look_up(uint64_t address) const {
  return symbols_.find(address - moved_by_, AddressKind::kReturn);
}

Result<void> LentNames::compare(const std::vector<Named>& names, Sizes sizes) {
  size_t unlike = 0;
  size_t compared = 0;
  std::string first;
  agreed_ = 0;
  for (const auto& [address, symbol] : names) {
    const KernelSymbol here = look_up(address);
    const bool of_kernel = symbol->module.empty() && !symbol->name.starts_with("bpf_");
    if (!here.known() && !of_kernel) {
      continue;
    }
    ++compared;
    // How far a BPF program or a module's last function reaches, the file does not say.
    const bool same_size = !of_kernel || sizes == Sizes::kLeftOut || here.size == symbol->size;
    if (here.name == symbol->name && here.offset == symbol->offset && same_size) {
      agreed_ += of_kernel ? 1 : 0;
      continue;
    }
    ++unlike;
    if (first.empty()) {
      first = fmt::format("0x{:x} is {} in the capture and {} in the file", address, symbol->text(address),
                          here.known() ? here.text(address) : "nothing");
    }
  }
  if (unlike != 0) {
    return make_error(ErrorKind::kFailed,
                      fmt::format("{} is of another kernel or another boot: it contradicts {} of the {} names that the "
                                  "capture has; {}",
                                  symbols_.source(), unlike, compared, first));
  }
  return {};
}

Result<std::unique_ptr<LentNames>> LentNames::from_kallsyms(const Capture& capture, Kallsyms symbols,
                                                            std::string_view boot_id) {
  const std::string file = symbols.source();
  STACKMAP_TRY(refuse_unfit(capture, file));
  const std::string& own_id = capture.info().host.boot_id;
  if (!boot_id.empty() && boot_id != own_id) {
    return make_error(ErrorKind::kFailed, fmt::format("{} is of another boot: of {}, the capture is of {}", file,
                                                      boot_id, own_id.empty() ? "one that it does not name" : own_id));
  }
  std::unique_ptr<LentNames> lent(new LentNames(std::move(symbols), 0));
  STACKMAP_TRY(lent->compare(own_names(capture), Sizes::kCompared));
  if (boot_id.empty() && lent->agreed_ < kEnough) {
    return make_error(
        ErrorKind::kFailed,
        fmt::format(
            "cannot tell whether {} is of the capture's boot: the capture has {} names to compare with it, and {} "
            "are needed",
            file, lent->agreed_, kEnough),
        fmt::format("say with --boot-id which boot the file is of; the capture is of {}",
                    own_id.empty() ? "one that it does not name, so nothing can be lent to it" : own_id));
  }
  return lent;
}

Result<std::unique_ptr<LentNames>> LentNames::from_system_map(const Capture& capture, std::string_view text,
                                                              const std::string& name) {
  STACKMAP_TRY(refuse_unfit(capture, name));
  STACKMAP_TRY_VALUE(symbols, Kallsyms::parse(text, name));
  const std::vector<Named> names = own_names(capture);
  const auto anchor = std::ranges::find_if(names, [](const Named& named) { return named.symbol->module.empty(); });
  Error error = make_error(
      ErrorKind::kFailed,
      fmt::format("cannot tell where the kernel of {} was put: the capture has no name that is in it", name));
  if (anchor == names.end()) {
    return error;
  }
  std::unique_ptr<LentNames> lent(new LentNames(std::move(symbols), 0));
  for (const uint64_t linked_at : addresses_of(text, anchor->symbol->name)) {
    lent->moved_by_ = anchor->address - anchor->symbol->offset - linked_at;
    auto compared = lent->compare(names, Sizes::kLeftOut);
    if (compared && lent->agreed_ >= kEnough) {
      return lent;
    }
    error = compared
                ? make_error(ErrorKind::kFailed,
                             fmt::format("cannot tell whether {} is of the capture's kernel: the capture has {} names "
                                         "to compare with it, and {} are needed",
                                         name, lent->agreed_, kEnough))
                : std::move(compared).error();
  }
  return error;
}

const KernelSymbol* LentNames::find(uint64_t address) const {
  const auto [it, is_new] = found_.try_emplace(address);
  if (is_new) {
    it->second = look_up(address);
  }
  return it->second.known() ? &it->second : nullptr;
}

}  // namespace stackmap
