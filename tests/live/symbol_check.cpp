// SPDX-License-Identifier: Apache-2.0
// Holds /proc/kallsyms against the kernel's own "%pS" and "%pB": at the first byte of every symbol, one before and
// after, in the middle, and at the last byte. Names of BPF programs are left out (kallsyms does not say where an image
// ends), and counted.
#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include "base/log.h"
#include "collector/bpf_log.h"
#include "collector/bpf_namer.h"
#include "symbolize/kallsyms.h"

using namespace stackmap;

namespace {

constexpr int kSkip = 77;
constexpr size_t kShow = 10;

std::set<uint64_t> addresses_to_try() {
  std::set<uint64_t> starts;
  std::ifstream file("/proc/kallsyms");
  for (std::string line; std::getline(file, line);) {
    starts.insert(std::stoull(line, nullptr, 16));
  }
  std::set<uint64_t> all = {0, 1, ~uint64_t{0}};
  for (auto it = starts.begin(); it != starts.end(); ++it) {
    const auto next = std::next(it);
    const uint64_t end = next == starts.end() ? *it + 4096 : *next;
    for (const uint64_t address : {*it - 1, *it, *it + 1, *it + (end - *it) / 2, end - 1}) {
      all.insert(address);
    }
  }
  return all;
}

}  // namespace

int main() {
  capture_bpf_log(LibbpfLog::kKept);
  auto kernel = BpfNamer::create();
  if (!kernel) {
    log_error("skipped: " + kernel.error().message());
    return kSkip;
  }
  const auto kallsyms = Kallsyms::load();
  if (!kallsyms) {
    log_error("skipped: " + kallsyms.error().message());
    return kSkip;
  }
  size_t tried = 0;
  size_t bpf = 0;
  size_t mismatches = 0;
  for (const uint64_t address : addresses_to_try()) {
    for (const AddressKind kind : {AddressKind::kReturn, AddressKind::kExact}) {
      const auto text = (*kernel)->text(address, kind);
      if (!text) {
        log_error(text.error().message());
        return 1;
      }
      const KernelSymbol right = parse_kernel_symbol(*text);
      const KernelSymbol ours = kallsyms->find(address, kind);
      if (right.name.starts_with("bpf_") || ours.name.starts_with("bpf_prog_")) {
        bpf += right == ours ? 0U : 1U;
        continue;
      }
      ++tried;
      if (right != ours) {
        if (++mismatches <= kShow) {
          std::printf("%s: the kernel says %s\n", ours.text(address).c_str(), text->c_str());
        }
      }
    }
  }
  std::printf("%zu addresses tried, %zu mismatches (and %zu of BPF images, which kallsyms cannot bound)\n", tried,
              mismatches, bpf);
  return mismatches == 0 && tried > 100000 ? 0 : 1;
}
