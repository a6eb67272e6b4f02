// SPDX-License-Identifier: Apache-2.0
#include "collector/bpf_namer.h"

#include <bpf/bpf.h>
#include <symbol.skel.h>

#include <cerrno>
#include <string>

#include "collector/bpf_log.h"

namespace stackmap {

namespace {

// bpf/symbol.bpf.c's.
struct Request {
  uint64_t address;
  uint64_t is_return;
};

}  // namespace

Result<std::unique_ptr<BpfNamer>> BpfNamer::create() {
  errno = 0;
  symbol_bpf* skeleton = symbol_bpf::open_and_load();
  if (skeleton == nullptr) {
    Error error = errno_error("cannot load the BPF program that names kernel addresses");
    const std::string log = take_bpf_log();
    if (!log.empty()) {
      error.context += " (" + log + ")";
    }
    return error;
  }
  return std::unique_ptr<BpfNamer>(new BpfNamer(skeleton));
}

BpfNamer::~BpfNamer() {
  symbol_bpf::destroy(skeleton_);
}

Result<std::string> BpfNamer::text(uint64_t address, AddressKind kind) {
  Request request = {address, kind == AddressKind::kReturn ? 1U : 0U};
  bpf_test_run_opts options{};
  options.sz = sizeof(options);
  options.ctx_in = &request;
  options.ctx_size_in = sizeof(request);
  const int fd = bpf_program__fd(skeleton_->progs.name_address);
  if (bpf_prog_test_run_opts(fd, &options) != 0) {
    return errno_error("cannot run the BPF program that names kernel addresses");
  }
  const long length = skeleton_->bss->symbol_length;
  if (length <= 0) {
    return errno_error_of(static_cast<int>(-length), "the kernel does not name an address");
  }
  // The length counts the NUL, and what did not fit.
  const size_t room = sizeof(skeleton_->bss->symbol_text) - 1;
  return std::string(skeleton_->bss->symbol_text, std::min<size_t>(static_cast<size_t>(length) - 1, room));
}

Result<std::vector<KernelSymbol>> BpfNamer::name(std::span<const uint64_t> addresses, AddressKind kind) {
  std::vector<KernelSymbol> symbols;
  symbols.reserve(addresses.size());
  for (const uint64_t address : addresses) {
    STACKMAP_TRY_VALUE(answer, text(address, kind));
    symbols.push_back(parse_kernel_symbol(answer));
  }
  return symbols;
}

}  // namespace stackmap
