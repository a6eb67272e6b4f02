// SPDX-License-Identifier: Apache-2.0
#include "symbolize/kallsyms.h"

#include <fmt/format.h>

#include <map>
#include <random>

#include "fuzz/allocation_bound.h"
#include "support/catch.h"
#include "support/temp_tree.h"

using namespace stackmap;

namespace {

// A small kernel, laid out as /proc/kallsyms of one without CONFIG_KALLSYMS_ALL.
const std::string kKernel =
    "ffffffff81000000 T first\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81000010 t a\n"
    "ffffffff81000018 W b.isra.0\n"
    "ffffffff81000020 T _etext\n"
    "ffffffff81000040 D __start_rodata\n"
    "ffffffff81001000 T _sinittext\n"
    "ffffffff81001008 t init_one\n"
    "ffffffff81001010 T _einittext\n"
    "ffffffff81002000 D __stop_late\n";

Kallsyms parsed(const std::string& text) {
  auto symbols = Kallsyms::parse(text);
  REQUIRE(symbols.ok());
  return std::move(*symbols);
}

std::string exact(const Kallsyms& symbols, uint64_t address) {
  return symbols.find(address, AddressKind::kExact).text(address);
}
std::string returned(const Kallsyms& symbols, uint64_t address) {
  return symbols.find(address, AddressKind::kReturn).text(address);
}

}  // namespace

TEST_CASE("an exact address is named by the symbol that holds it") {
  const Kallsyms symbols = parsed(kKernel);
  CHECK(exact(symbols, 0xffffffff81000010) == "a+0x0/0x8");
  CHECK(exact(symbols, 0xffffffff81000017) == "a+0x7/0x8");
  CHECK(exact(symbols, 0xffffffff81000018) == "b.isra.0+0x0/0x8");
  CHECK(exact(symbols, 0xffffffff81001008) == "init_one+0x0/0x8");
}

TEST_CASE("a return address is looked up one byte before, and keeps its offset") {
  const Kallsyms symbols = parsed(kKernel);
  CHECK(returned(symbols, 0xffffffff81000010) == "first+0x10/0x10");
  CHECK(returned(symbols, 0xffffffff81000011) == "a+0x1/0x8");
  CHECK(returned(symbols, 0xffffffff81000018) == "a+0x8/0x8");
  CHECK(returned(symbols, 0xffffffff81000020) == "b.isra.0+0x8/0x8");
  CHECK(returned(symbols, 0xffffffff81001010) == "init_one+0x8/0x8");
  CHECK(returned(symbols, 0) == "0x0");
}

TEST_CASE("of several names of one address the first of the file is taken") {
  CHECK(exact(parsed(kKernel), 0xffffffff8100000f) == "first+0xf/0x10");
  // Also where the file is not sorted.
  const Kallsyms symbols = parsed(
      "ffffffff81000008 T z\nffffffff81000008 T y\nffffffff81000000 T _stext\n"
      "ffffffff81000010 T _etext\nffffffff81000008 T x\n");
  CHECK(exact(symbols, 0xffffffff81000009) == "z+0x1/0x8");
}

TEST_CASE("outside the kernel's text nothing is named after it") {
  const Kallsyms symbols = parsed(kKernel);
  const uint64_t address =
      GENERATE(0xffffffff80ffffff, 0xffffffff81000020, 0xffffffff81000021, 0xffffffff81000040, 0xffffffff81000fff,
               0xffffffff81001010, 0xffffffff81001fff, 0xffffffff81002000, 0xffffffffff600000, UINT64_MAX, 0, 1);
  INFO(fmt::format("{:#x}", address));
  CHECK_FALSE(symbols.find(address, AddressKind::kExact).known());
}

TEST_CASE("return addresses at the start of a range are outside it, at its end inside") {
  const Kallsyms symbols = parsed(kKernel);
  CHECK_FALSE(symbols.find(0xffffffff81000000, AddressKind::kReturn).known());
  CHECK_FALSE(symbols.find(0xffffffff81001000, AddressKind::kReturn).known());
  CHECK_FALSE(symbols.find(0xffffffff81000021, AddressKind::kReturn).known());
  CHECK_FALSE(symbols.find(0xffffffff81001011, AddressKind::kReturn).known());
}

TEST_CASE("a kernel that lists its data names it") {
  const Kallsyms symbols = parsed(
      "0000000000000000 A fixed_percpu_data\n0000000000001000 A cpu_debug_store\n"
      "ffffffff81000000 T _stext\nffffffff81000010 T _etext\nffffffff81000020 d table\nffffffff81000030 B _end\n"
      "ffffffff81000100 T __init_begin\nffffffff81000140 T __init_end\n");
  CHECK(exact(symbols, 0xffffffff81000012) == "_etext+0x2/0x10");
  CHECK(exact(symbols, 0xffffffff81000024) == "table+0x4/0x10");
  CHECK(exact(symbols, 0xffffffff81000030) == "0xffffffff81000030");
  CHECK(exact(symbols, 0xffffffff81000101) == "__init_begin+0x1/0x40");
  CHECK(exact(symbols, 0xffffffff81000140) == "0xffffffff81000140");
  CHECK(exact(symbols, 0x1000) == "0x1000");
}

TEST_CASE("the last symbol ends with its range") {
  // No symbol stands at the end of the text but the bound itself, and none follows.
  CHECK(exact(parsed("ffffffff81000000 T _stext\nffffffff81000004 T f\nffffffff81000010 T _etext\n"),
              0xffffffff8100000f) == "f+0xb/0xc");
}

TEST_CASE("module symbols are sorted, sized and carry their module") {
  const Kallsyms symbols = parsed(kKernel +
                                  "ffffffffc0002010 t second\t[mod]\n"
                                  "ffffffffc0002000 t first_of_mod\t[mod]\n"
                                  "ffffffffc0002000 t alias\t[mod]\n"
                                  "ffffffffc0003040 d data\t[mod]\n"
                                  "ffffffffc0005000 T only\t[other]\n"
                                  "ffffffffc0004000 t ftrace_trampoline\t[__builtin__ftrace]\n");
  CHECK(exact(symbols, 0xffffffffc0002001) == "first_of_mod+0x1/0x10 [mod]");
  CHECK(returned(symbols, 0xffffffffc0002010) == "first_of_mod+0x10/0x10 [mod]");
  // The last text symbol reaches to the end of its page.
  CHECK(exact(symbols, 0xffffffffc0002fff) == "second+0xfef/0xff0 [mod]");
  CHECK(exact(symbols, 0xffffffffc0003000) == "0xffffffffc0003000");
  CHECK(exact(symbols, 0xffffffffc0003040) == "data+0x0/0xfc0 [mod]");
  CHECK(exact(symbols, 0xffffffffc0005fff) == "only+0xfff/0x1000 [other]");
  CHECK(exact(symbols, 0xffffffffc0001fff) == "0xffffffffc0001fff");
  // The kernel lists these pages and does not name them.
  CHECK(exact(symbols, 0xffffffffc0004000) == "0xffffffffc0004000");
  CHECK(symbols.find(0xffffffffc0004000, AddressKind::kExact) == KernelSymbol{});
}

TEST_CASE("a module's text symbols may lie pages apart") {
  const Kallsyms symbols = parsed(kKernel + "ffffffffc0002000 t big\t[mod]\nffffffffc0009000 t next\t[mod]\n");
  CHECK(exact(symbols, 0xffffffffc0008fff) == "big+0x6fff/0x7000 [mod]");
  // Of one module only: what follows is no end of another's.
  const Kallsyms two = parsed(kKernel + "ffffffffc0002000 t big\t[mod]\nffffffffc0009000 t next\t[other]\n");
  CHECK(exact(two, 0xffffffffc0002fff) == "big+0xfff/0x1000 [mod]");
  CHECK(exact(two, 0xffffffffc0003000) == "0xffffffffc0003000");
}

TEST_CASE("BPF programs reach to the next listed address, and not far") {
  const Kallsyms symbols = parsed(kKernel +
                                  "ffffffffc0201000 t ftrace_trampoline\t[__builtin__ftrace]\n"
                                  "ffffffffc0006044 t bpf_prog_0123456789abcdef_y\t[bpf]\n"
                                  "ffffffffc0006004 t bpf_prog_fedcba9876543210_x\t[bpf]\n"
                                  "ffffffffc0200ff0 t bpf_trampoline_6442\t[bpf]\n");
  // As the kernel prints them: without the [bpf] that its list has.
  CHECK(exact(symbols, 0xffffffffc0006005) == "bpf_prog_fedcba9876543210_x+0x1/0x40");
  CHECK(exact(symbols, 0xffffffffc0016043) == "bpf_prog_0123456789abcdef_y+0xffff/0x10000");
  CHECK(exact(symbols, 0xffffffffc0016044) == "0xffffffffc0016044");
  CHECK(exact(symbols, 0xffffffffc0200ff8) == "bpf_trampoline_6442+0x8/0x10");
  CHECK(exact(symbols, 0xffffffffc0201000) == "0xffffffffc0201000");
}

TEST_CASE("symbols at the top of the address space do not wrap") {
  const Kallsyms symbols = parsed(kKernel + "fffffffffffffff0 t top\t[mod]\nfffffffffffff000 t near\t[bpf]\n");
  CHECK(exact(symbols, 0xfffffffffffffff8) == "top+0x8/0xf [mod]");
  CHECK(exact(symbols, 0xfffffffffffff001) == "near+0x1/0xff0");
  CHECK(exact(symbols, 0x10) == "0x10");
}

TEST_CASE("addresses that are hidden are an error, with the remedy") {
  const auto hidden =
      Kallsyms::parse("0000000000000000 T _stext\n0000000000000000 T _etext\n0000000000000000 t f\t[m]\n");
  REQUIRE_FALSE(hidden.ok());
  CHECK(hidden.error().kind == ErrorKind::kPrivilege);
  CHECK(hidden.error().remedy.find("kptr_restrict") != std::string::npos);
}

TEST_CASE("a list that cannot be used is an error") {
  const std::string text = GENERATE(
      std::string(""), std::string("\n\n"), std::string("garbage\n"), std::string("ffffffff81000000 T _stext\n"),
      std::string("ffffffff81000000 T _etext\n"), std::string("ffffffff81000010 T _stext\nffffffff81000000 T _etext\n"),
      std::string("ffffffff81000000 T _stext\nffffffff81000000 T _etext\n"),
      std::string("ffffffff81000000 T _sinittext\nffffffff81000010 T _einittext\nffffffff81000000 T f\n"),
      // A module cannot say where the kernel's text is.
      std::string("ffffffff81000000 T _stext\t[m]\nffffffff81000010 T _etext\t[m]\n"));
  const auto symbols = Kallsyms::parse(text);
  REQUIRE_FALSE(symbols.ok());
  CHECK(symbols.error().kind == ErrorKind::kCorrupt);
}

TEST_CASE("lines that are no symbol are skipped") {
  // @: an address. One that some symbol holds, and one that none does but this.
  const std::string line =
      GENERATE(std::string("@"), std::string("@ T"), std::string("@ T "), std::string("@T x"), std::string("@  x"),
               std::string("@ 1 x"), std::string("@ T x y"), std::string("@ T x\t"), std::string("@ T x\t[]"),
               std::string("@ T x\t[m"), std::string("@ T x\tm]"), std::string("@ T x\t[a b]"),
               std::string("@ T x\t[m]\t[n]"), std::string("0x@ T x"), std::string("1@ T x"), std::string("-1 T x"),
               std::string(" @ T x"), std::string("@ T x\r"), std::string("zz T x"), std::string("@ T \x01x"),
               std::string("@ T x\0y", 7), "@ T " + std::string(Kallsyms::kMaxLine, 'n'));
  const auto with = [&](const std::string& address) {
    std::string text = line;
    if (const size_t at = text.find('@'); at != std::string::npos) {
      text.replace(at, 1, address);
    }
    return parsed(text + "\n" + kKernel);
  };
  CHECK(exact(with("ffffffff81000012"), 0xffffffff81000013) == "a+0x3/0x8");
  CHECK_FALSE(with("ffffffffc0000012").find(0xffffffffc0000012, AddressKind::kExact).known());
}

TEST_CASE("a last line without its newline counts") {
  CHECK(exact(parsed(kKernel + "ffffffffc0002000 t f\t[mod]"), 0xffffffffc0002001) == "f+0x1/0x1000 [mod]");
  CHECK(exact(parsed(kKernel + "x"), 0xffffffff81000013) == "a+0x3/0x8");
}

TEST_CASE("names may be long, and of any printable bytes") {
  const std::string name =
      GENERATE(std::string(511, 'n'), std::string("_RNvCs1_4core$llvm<T>::f+0x1/0x2"), std::string("na\xc3\xafve"));
  const Kallsyms symbols =
      parsed("ffffffff81000000 T _stext\nffffffff81000004 T " + name + "\nffffffff81000010 T _etext\n");
  CHECK(symbols.find(0xffffffff81000005, AddressKind::kExact) == KernelSymbol{name, 1, 0xc, ""});
}

TEST_CASE("every address of random kernels agrees with a plain search") {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    struct Line {
      uint64_t address;
      std::string name;
    };
    std::vector<Line> lines;
    const uint64_t base = 0xffffffff81000000;
    for (unsigned i = 0; i < 40; ++i) {
      lines.push_back({base + random() % 256, fmt::format("s{}", i % 30)});  // some names repeat
    }
    const uint64_t stext = base + 16;
    const uint64_t etext = base + 100;
    const uint64_t sinit = base + 150;
    const uint64_t einit = base + 220;
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(random() % 40),
                 {{stext, "_stext"}, {etext, "_etext"}, {sinit, "_sinittext"}, {einit, "_einittext"}});
    std::string text;
    for (const Line& line : lines) {
      text += fmt::format("{:016x} t {}\n", line.address, line.name);
    }
    Kallsyms symbols = parsed(text);
    std::vector<uint64_t> addresses;
    for (uint64_t address = base - 2; address < base + 300; ++address) {
      addresses.push_back(address);
    }
    for (const AddressKind kind : {AddressKind::kExact, AddressKind::kReturn}) {
      const auto named = symbols.name(addresses, kind);
      REQUIRE(named.ok());
      REQUIRE(named->size() == addresses.size());
      for (size_t i = 0; i < addresses.size(); ++i) {
        const uint64_t at = addresses[i] - (kind == AddressKind::kReturn ? 1 : 0);
        KernelSymbol expected;
        if ((at >= stext && at < etext) || (at >= sinit && at < einit)) {
          const Line* best = nullptr;
          uint64_t end = UINT64_MAX;
          for (const Line& line : lines) {
            if (line.address <= at && (best == nullptr || line.address > best->address)) {
              best = &line;
            }
            if (line.address > at && line.address < end) {
              end = line.address;
            }
          }
          REQUIRE(best != nullptr);
          expected = {best->name, addresses[i] - best->address, end - best->address, ""};
        }
        INFO(fmt::format("{:#x}", addresses[i]));
        REQUIRE((*named)[i] == expected);
      }
    }
  }
}

TEST_CASE("a file is read in pieces and gives what its text gives") {
  // Lines of odd lengths, so that pieces end within them; one that is too long for a line; more than one piece in all.
  std::string text = kKernel;
  for (unsigned i = 0; i < 6000; ++i) {
    text += fmt::format("{:016x} t symbol_{}\t[mod]\n", 0xffffffffc0000000 + 16 * i, std::string(i % 37, 'x'));
  }
  text.append(200000, 'l');
  text += "\nffffffffc1000000 t last\t[mod]\n";
  const TempTree tree;
  const auto loaded = Kallsyms::load(tree.write("kallsyms", text));
  REQUIRE(loaded.ok());
  const Kallsyms symbols = parsed(text);
  CHECK(loaded->source() == tree.path("kallsyms"));
  for (uint64_t i = 0; i < 6000; ++i) {
    const uint64_t address = 0xffffffffc0000000 + 16 * i + 5;
    const KernelSymbol expected{"symbol_" + std::string(i % 37, 'x'), 5,
                                i == 5999 ? 0xffffffffc1000000 - address + 5 : 16, "mod"};
    REQUIRE(loaded->find(address, AddressKind::kExact) == expected);
    REQUIRE(symbols.find(address, AddressKind::kExact) == expected);
  }
  CHECK(exact(*loaded, 0xffffffffc1000000) == "last+0x0/0x1000 [mod]");
  CHECK(exact(symbols, 0xffffffffc1000000) == "last+0x0/0x1000 [mod]");
}

TEST_CASE("a line that is too long is so wherever the pieces end") {
  constexpr size_t kPiece = 64 << 10;  // of load()
  std::string text = kKernel;
  while (text.size() < kPiece - 700 - 40) {
    text += "ffffffffc0000000 t f\t[m]\n";
  }
  text.append(kPiece - 700 - text.size() - 1, 'x');
  text += '\n';
  // 700 bytes in the first piece, 800 in the second: each would fit by itself.
  text += "ffffffffc0001000 t " + std::string(1500 - 19, 'n') + "\n";
  const TempTree tree;
  const auto loaded = Kallsyms::load(tree.write("kallsyms", text));
  REQUIRE(loaded.ok());
  CHECK_FALSE(loaded->find(0xffffffffc0001000, AddressKind::kExact).known());
}

TEST_CASE("files that are missing or have no end") {
  const TempTree tree;
  CHECK(Kallsyms::load(tree.path("none")).error().kind == ErrorKind::kNotFound);
  CHECK(Kallsyms::load(tree.root()).error().kind == ErrorKind::kFailed);
  const auto endless = Kallsyms::load("/dev/zero");
  REQUIRE_FALSE(endless.ok());
  CHECK(endless.error().kind == ErrorKind::kFailed);
}

TEST_CASE("memory follows the symbols") {
  std::string text = kKernel;
  for (unsigned i = 0; i < 100000; ++i) {
    text += fmt::format("{:016x} t twenty_bytes_of_name\t[m]\n", 0xffffffffc0000000 + 16 * i);
  }
  const stackmap_test::AllocationBound bound(Kallsyms::kMemoryBase + Kallsyms::kMemoryFactor * text.size());
  const auto symbols = Kallsyms::parse(text);
  const size_t held = bound.held();
  REQUIRE(symbols.ok());
  // 20 bytes of name and 16 of symbol each, and a little around them.
  CHECK(held >= 100000 * 36);
  CHECK(held < 100000 * 36 + 10000);
}
