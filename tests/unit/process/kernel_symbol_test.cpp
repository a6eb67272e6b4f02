// SPDX-License-Identifier: Apache-2.0
#include "process/kernel_symbol.h"

#include <random>

#include "support/catch.h"

using namespace stackmap;

TEST_CASE("a kernel symbol prints as the kernel's %pS does") {
  CHECK(KernelSymbol{"kfree", 0x1a, 0x140, ""}.text(0xffffffff81000000) == "kfree+0x1a/0x140");
  CHECK(KernelSymbol{"ext4_sync_fs", 0, 0x10, "ext4"}.text(1) == "ext4_sync_fs+0x0/0x10 [ext4]");
  CHECK(KernelSymbol{}.text(0xffffffff81384c40) == "0xffffffff81384c40");
  CHECK(KernelSymbol{}.text(0) == "0x0");
}

TEST_CASE("a name without offset and size prints alone") {
  CHECK(KernelSymbol{"[FTRACE TRAMPOLINE]", 0, KernelSymbol::kNameAlone, ""}.text(1) == "[FTRACE TRAMPOLINE]");
  CHECK(KernelSymbol{"ext4_read", 0, KernelSymbol::kNameAlone, "ext4"}.text(1) == "ext4_read [ext4]");
  CHECK_FALSE(parse_kernel_symbol("ext4_read [ext4]").known());
}

TEST_CASE("what %pS and %pB print is read back") {
  CHECK(parse_kernel_symbol("name+0x1a/0x40 [mod]") == KernelSymbol{"name", 0x1a, 0x40, "mod"});
  CHECK(parse_kernel_symbol("__slab_alloc.isra.0+0x0/0x10") == KernelSymbol{"__slab_alloc.isra.0", 0, 0x10, ""});
  // %pB of a call that ends its function: the offset equals the size.
  CHECK(parse_kernel_symbol("use_tpause_delay+0x20/0x20") == KernelSymbol{"use_tpause_delay", 0x20, 0x20, ""});
  CHECK(parse_kernel_symbol("f+0xffffffffffffffff/0x7fffffffffffffff").offset == UINT64_MAX);
}

TEST_CASE("names may hold whatever compilers put in them") {
  const char* name = GENERATE("core::ptr::drop_in_place<[u8; 4]>", "f$llvm$1", "operator+", "a+b", "a+0x1/0x2",
                              "<T as core::ops::Add>::add+0x", "a [b]", "x+0x1/0x2 [m]", "f.llvm.123", "+0x", " lead");
  const char* module = GENERATE("", "mod", "xt_MASQUERADE");
  const KernelSymbol symbol{name, 0x12, 0x345, module};
  CHECK(parse_kernel_symbol(symbol.text(0)) == symbol);
}

TEST_CASE("the module is the first word of the first group") {
  CHECK(parse_kernel_symbol("f+0x0/0x10 [mod 0123456789abcdef0123456789abcdef01234567]").module == "mod");
  CHECK(parse_kernel_symbol("f+0x0/0x10 [mod] [extra]").module == "mod");
  // A group that holds what looks like offset and size does not become the symbol's.
  CHECK(parse_kernel_symbol("f+0x1/0x10 [m+0x2/0x3]") == KernelSymbol{"f", 1, 0x10, "m+0x2/0x3"});
}

TEST_CASE("text that is no symbol is an unknown one") {
  const char* text = GENERATE("", "0xffffffff81000000", "ffffffff81000000", "kfree", "kfree+0x1a", "kfree+0x/0x10",
                              "kfree+0x1/0x", "kfree+1/2", "+0x1/0x2", "kfree+0x1/0x2 mod", "kfree+0x1/0x2 mod]",
                              "kfree+0x1/0x2 [mod", "kfree+0x1/0x2[mod]", "kfree+0x1/0x2 [mod]x", "kfree+0x1/0x2\n",
                              "kfree+0x-1/0x2", "kfree+0x10000000000000000/0x2", "(unknown)", "[mod]");
  const KernelSymbol symbol = parse_kernel_symbol(text);
  CHECK_FALSE(symbol.known());
  CHECK(symbol == KernelSymbol{});
}

TEST_CASE("what the kernel prints for the vsyscall page is no name") {
  // Printed by a 6.18 kernel for 0xffffffffff600000: the last symbol it has, and a size below zero.
  CHECK_FALSE(parse_kernel_symbol("__stop_runtime_ptr_USER_PTR_MAX+0x7badb68c/0xfffffffffe7525d4").known());
}

TEST_CASE("random symbols survive printing and reading") {
  std::mt19937_64 random(7);
  const std::string letters = "ab_.$<>:+0x/[] ;,&\xc3\xa9\x01";
  for (int i = 0; i < 20000; ++i) {
    KernelSymbol symbol;
    const size_t length = 1 + random() % 12;
    for (size_t j = 0; j < length; ++j) {
      symbol.name += letters[random() % letters.size()];
    }
    symbol.offset = random() >> (random() % 64);
    symbol.size = random() >> (1 + random() % 63);
    symbol.module = random() % 2 == 0 ? "" : "mod_1";
    INFO(symbol.text(0));
    REQUIRE(parse_kernel_symbol(symbol.text(0)) == symbol);
  }
}
