// SPDX-License-Identifier: Apache-2.0
#include "profile/lent_names.h"

#include <fmt/format.h>

#include "capture/capture_writer.h"
#include "profile/event_source.h"
#include "support/catch.h"
#include "support/faulty_file.h"

using namespace stackmap;

namespace {

constexpr uint64_t kBase = 0xffffffff81000000;
const std::string kBoot = "11111111-2222-3333-4444-555555555555";

// A kernel of five functions, moved by `moved`; one of them is 0x20 larger in a kernel that was built differently.
std::string symbol_list(uint64_t moved = 0, uint64_t larger = 0, bool module = true) {
  std::string text;
  const auto line = [&](uint64_t address, std::string_view name) {
    text += fmt::format("{:016x} T {}\n", address + moved, name);
  };
  line(kBase, "_stext");
  line(kBase + 0x100, "alpha");
  line(kBase + 0x200, "beta");
  line(kBase + 0x280 + larger, "gamma");
  line(kBase + 0x400, "delta");
  line(kBase + 0x500, "epsilon");
  line(kBase + 0x600, "_etext");
  if (module) {
    text += "ffffffffa0000000 t mod_f\t[m]\nffffffffa0000100 t mod_g\t[m]\n";
  }
  return text;
}

using Names = std::vector<std::pair<uint64_t, KernelSymbol>>;

// Four names of the kernel itself; epsilon's addresses have none.
Names four_names() {
  return {{kBase + 0x110, {"alpha", 0x10, 0x100, ""}},
          {kBase + 0x210, {"beta", 0x10, 0x80, ""}},
          {kBase + 0x290, {"gamma", 0x10, 0x180, ""}},
          // The call that ends a function: its return address is the next one's first byte.
          {kBase + 0x500, {"delta", 0x100, 0x100, ""}}};
}

Capture capture_of(const Names& names, const std::string& boot_id = kBoot, bool imported = false) {
  auto disk = std::make_shared<stackmap_test::Disk>();
  CaptureInfo info;
  info.host.boot_id = boot_id;
  auto writer = CaptureWriter::create(std::make_unique<stackmap_test::FaultyFile>(disk), info, known_event_types(), {});
  REQUIRE(writer);
  for (const auto& [address, symbol] : names) {
    (*writer)->add_symbol(address, symbol);
  }
  Ledger ledger;
  if (imported) {
    ledger.set("import.events", 1);
  }
  REQUIRE((*writer)->close(ledger));
  auto capture = Capture::open(memory_file(disk->bytes, "memory"));
  REQUIRE(capture);
  return std::move(capture).value();
}

Result<std::unique_ptr<LentNames>> lend(const Capture& capture, const std::string& text,
                                        std::string_view boot_id = "") {
  auto symbols = Kallsyms::parse(text, "saved");
  REQUIRE(symbols);
  return LentNames::from_kallsyms(capture, std::move(symbols).value(), boot_id);
}

void check_refused(const Result<std::unique_ptr<LentNames>>& lent, const std::string& why) {
  REQUIRE_FALSE(lent);
  CHECK(lent.error().kind == ErrorKind::kFailed);
  INFO(lent.error().message());
  CHECK(lent.error().message().find(why) != std::string::npos);
}

}  // namespace

TEST_CASE("a list that agrees with every name is lent", "[lent_names]") {
  const Capture capture = capture_of(four_names());
  const auto lent = lend(capture, symbol_list());
  REQUIRE(lent);
  REQUIRE((*lent)->find(kBase + 0x510) != nullptr);
  CHECK((*lent)->find(kBase + 0x510)->text(0) == "epsilon+0x10/0x100");
  CHECK((*lent)->find(kBase + 0x700) == nullptr);
  CHECK((*lent)->find(0xffffffffa0000010)->text(0) == "mod_f+0x10/0x100 [m]");
}

TEST_CASE("a list of another boot is refused, with the numbers", "[lent_names]") {
  const Capture capture = capture_of(four_names());
  check_refused(lend(capture, symbol_list(0x200000)), "contradicts 4 of the 4 names");
  check_refused(lend(capture, symbol_list(0x200000), kBoot), "contradicts 4 of the 4 names");
}

TEST_CASE("a list of another kernel at the same place is refused for one name", "[lent_names]") {
  const Capture capture = capture_of(four_names());
  // gamma begins 0x20 later, so that beta is larger and gamma smaller: two names are unlike.
  check_refused(lend(capture, symbol_list(0, 0x20)), "contradicts 2 of the 4 names");
  check_refused(lend(capture, symbol_list(0, 0x20)),
                "0xffffffff81000210 is beta+0x10/0x80 in the capture and beta+0x10/0xa0 in the file");
}

TEST_CASE("too few names cannot tell, unless the boot id does", "[lent_names]") {
  Names names = four_names();
  names.pop_back();
  const Capture few = capture_of(names);
  check_refused(lend(few, symbol_list()), "cannot tell");
  check_refused(lend(few, symbol_list()), "has 3 names to compare with it, and 4 are needed");
  CHECK(lend(few, symbol_list(), kBoot));
  const Capture none = capture_of({});
  check_refused(lend(none, symbol_list()), "cannot tell");
  CHECK(lend(none, symbol_list(), kBoot));
}

TEST_CASE("a boot id that is another one is refused, whatever the names say", "[lent_names]") {
  check_refused(lend(capture_of(four_names()), symbol_list(), "other"),
                "is of another boot: of other, the capture is of " + kBoot);
  check_refused(lend(capture_of(four_names(), ""), symbol_list(), kBoot), "one that it does not name");
}

TEST_CASE("a module may have gone, but not have become another", "[lent_names]") {
  Names names = four_names();
  names.push_back({0xffffffffa0000110, {"mod_g", 0x10, 0x80, "m"}});
  const Capture capture = capture_of(names);
  CHECK(lend(capture, symbol_list()));
  CHECK(lend(capture, symbol_list(0, 0, false)));
  names.back().second.name = "other_g";
  check_refused(lend(capture_of(names), symbol_list()), "contradicts 1 of the 5 names");
}

TEST_CASE("an import has no addresses to be named", "[lent_names]") {
  check_refused(lend(capture_of(four_names(), kBoot, true), symbol_list()), "imported");
}

TEST_CASE("names without a place are no proof", "[lent_names]") {
  Names names;
  for (auto [address, symbol] : four_names()) {
    names.push_back({address, {symbol.name, 0, KernelSymbol::kNameAlone, ""}});
  }
  check_refused(lend(capture_of(names), symbol_list()), "cannot tell");
}

TEST_CASE("a System.map is moved to where the capture's names are", "[lent_names]") {
  const Capture capture = capture_of(four_names());
  for (const uint64_t moved : {uint64_t{0}, uint64_t{0} - 0x1c00000, uint64_t{0x200000}}) {
    const auto lent = LentNames::from_system_map(capture, symbol_list(moved, 0, false), "map");
    REQUIRE(lent);
    CHECK((*lent)->find(kBase + 0x510)->text(0) == "epsilon+0x10/0x100");
  }
  // The name that it is moved by is in the file twice: the first place is the wrong one.
  const std::string twice = fmt::format("{:016x} T alpha\n", kBase + 0x20) + symbol_list(0x200000, 0, false);
  CHECK(LentNames::from_system_map(capture, twice, "map"));
}

TEST_CASE("a System.map of another kernel is refused", "[lent_names]") {
  check_refused(LentNames::from_system_map(capture_of(four_names()), symbol_list(0x200000, 0x20, false), "map"),
                "contradicts");
  check_refused(LentNames::from_system_map(capture_of({}), symbol_list(), "map"), "cannot tell");
  Names names = four_names();
  names.pop_back();
  check_refused(LentNames::from_system_map(capture_of(names), symbol_list(), "map"), "has 3 names");
}

TEST_CASE("a capture's own names come first", "[lent_names]") {
  Names names = four_names();
  names.push_back({kBase + 0x710, {"own", 1, 2, "gone"}});
  names.push_back({kBase + 0x510, {"", 0, 0, ""}});  // asked for, and not known
  const Capture capture = capture_of(names);
  const auto lent = lend(capture, symbol_list());
  REQUIRE(lent);
  const CaptureSource source(capture, lent->get());
  CHECK(source.symbol_text(kBase + 0x710) == "own+0x1/0x2 [gone]");
  CHECK(source.symbol_text(kBase + 0x510) == "epsilon+0x10/0x100");
  CHECK(source.symbol_text(kBase + 0x520) == "epsilon+0x20/0x100");
  CHECK(source.symbol_text(kBase + 0x900) == "0xffffffff81000900");
  CHECK(CaptureSource(capture).symbol_text(kBase + 0x520) == "0xffffffff81000520");
}
