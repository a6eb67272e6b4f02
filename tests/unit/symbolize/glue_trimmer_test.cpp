// SPDX-License-Identifier: Apache-2.0
#include "symbolize/glue_trimmer.h"

#include <map>

#include "support/catch.h"

using namespace stackmap;

namespace {

class MapNamer final : public KernelNamer {
 public:
  Result<std::vector<KernelSymbol>> name(std::span<const uint64_t> addresses, AddressKind) override {
    ++calls;
    if (fails) {
      return make_error(ErrorKind::kFailed, "no names");
    }
    std::vector<KernelSymbol> symbols;
    for (const uint64_t address : addresses) {
      const auto it = names.find(address);
      symbols.push_back(it == names.end() ? KernelSymbol{} : KernelSymbol{it->second, 1, 16, ""});
    }
    return symbols;
  }
  std::string source() const override { return "a map"; }

  std::map<uint64_t, std::string> names = {{1, "bpf_prog_0123456789abcdef_kmalloc"},
                                           {2, "bpf_trace_run4"},
                                           {3, "__bpf_trace_kmalloc"},
                                           {4, "__traceiter_kmalloc"},
                                           {5, "bpf_trampoline_6442536467"},
                                           {100, "kmem_cache_alloc_noprof"},
                                           {101, "do_sys_openat2"}};
  size_t calls = 0;
  bool fails = false;
};

std::vector<uint64_t> trimmed(GlueTrimmer& trimmer, const std::vector<uint64_t>& frames) {
  const auto rest = trimmer.trim(frames);
  return {rest.begin(), rest.end()};
}

}  // namespace

TEST_CASE("one stack with 0, 3 and 5 leading glue frames is one stack") {
  MapNamer namer;
  GlueTrimmer trimmer(&namer);
  const std::vector<uint64_t> real = {100, 101};
  CHECK(trimmed(trimmer, {100, 101}) == real);
  CHECK(trimmed(trimmer, {1, 2, 4, 100, 101}) == real);
  CHECK(trimmed(trimmer, {1, 5, 2, 3, 4, 100, 101}) == real);
}

TEST_CASE("glue further out belongs to the stack") {
  MapNamer namer;
  GlueTrimmer trimmer(&namer);
  CHECK(trimmed(trimmer, {100, 2, 101}) == std::vector<uint64_t>{100, 2, 101});
}

TEST_CASE("a stack of glue alone, an unknown leaf, and an empty stack stay whole") {
  MapNamer namer;
  GlueTrimmer trimmer(&namer);
  CHECK(trimmed(trimmer, {1, 2}) == std::vector<uint64_t>{1, 2});
  CHECK(trimmed(trimmer, {999, 100}) == std::vector<uint64_t>{999, 100});
  CHECK(trimmed(trimmer, {}).empty());
}

TEST_CASE("a leaf that is no glue is asked for once") {
  MapNamer namer;
  GlueTrimmer trimmer(&namer);
  for (int i = 0; i < 1000; ++i) {
    (void)trimmed(trimmer, {100, 101});
  }
  CHECK(namer.calls == 1);
}

TEST_CASE("without names nothing is trimmed") {
  GlueTrimmer nobody(nullptr);
  CHECK(trimmed(nobody, {1, 2, 100}) == std::vector<uint64_t>{1, 2, 100});
  MapNamer namer;
  namer.fails = true;
  GlueTrimmer failing(&namer);
  CHECK(trimmed(failing, {1, 2, 100}) == std::vector<uint64_t>{1, 2, 100});
}
