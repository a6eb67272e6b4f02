// SPDX-License-Identifier: Apache-2.0
#include "symbolize/chain_namer.h"

#include "support/catch.h"

using namespace stackmap;

namespace {

struct Script {
  int opened = 0;
  bool opens = true;
  ErrorKind closed = ErrorKind::kUnsupported;  // if it does not open
  bool works = true;
  bool knows = true;
  size_t drop = 0;
};

class ScriptedNamer : public KernelNamer {
 public:
  ScriptedNamer(std::string name, const Script& script) : name_(std::move(name)), script_(script) {}
  Result<std::vector<KernelSymbol>> name(std::span<const uint64_t> addresses, AddressKind) override {
    if (!script_.works) {
      return make_error(ErrorKind::kFailed, name_ + " broke");
    }
    return std::vector<KernelSymbol>(addresses.size() - script_.drop,
                                     script_.knows ? KernelSymbol{name_, 1, 2, ""} : KernelSymbol{});
  }
  std::string source() const override { return name_; }

 private:
  std::string name_;
  const Script& script_;
};

ChainNamer::Open opener(const std::string& name, Script& script) {
  return [name, &script]() -> Result<std::unique_ptr<KernelNamer>> {
    ++script.opened;
    if (!script.opens) {
      return make_error(script.closed, name + " is closed", "be root");
    }
    return std::unique_ptr<KernelNamer>(std::make_unique<ScriptedNamer>(name, script));
  };
}

struct Chain {
  Script first;
  Script second;
  ChainNamer namer{{opener("first", first), opener("second", second)}};

  Result<std::vector<KernelSymbol>> ask() {
    static constexpr uint64_t kAddresses[] = {1, 2, 3};
    return namer.name(kAddresses, AddressKind::kReturn);
  }
};

}  // namespace

TEST_CASE("the first source that works is used, and the next is not even opened") {
  Chain chain;
  CHECK(chain.namer.source() == "none");
  CHECK(chain.ask()->at(2).name == "first");
  CHECK(chain.namer.source() == "first");
  CHECK(chain.first.opened == 1);
  CHECK(chain.second.opened == 0);
  CHECK(chain.namer.failures().empty());
}

TEST_CASE("a source that does not open is passed over") {
  Chain chain;
  chain.first.opens = false;
  REQUIRE(chain.namer.open().ok());
  CHECK(chain.namer.source() == "second");
  CHECK(chain.ask()->at(0).name == "second");
  REQUIRE(chain.namer.failures().size() == 1);
  CHECK(chain.namer.failures()[0].kind == ErrorKind::kUnsupported);
}

TEST_CASE("a source that fails later is given up for good") {
  Chain chain;
  CHECK(chain.ask()->at(0).name == "first");
  chain.first.works = false;
  CHECK(chain.ask()->at(0).name == "second");
  chain.first.works = true;
  CHECK(chain.ask()->at(0).name == "second");
  CHECK(chain.first.opened == 1);
  CHECK(chain.namer.failures().size() == 1);
}

TEST_CASE("a source that answers too little has failed") {
  Chain chain;
  chain.first.drop = 1;
  const auto named = chain.ask();
  REQUIRE(named.ok());
  CHECK(named->size() == 3);
  CHECK(chain.namer.source() == "second");
}

TEST_CASE("an address that a source does not know is an answer") {
  Chain chain;
  chain.first.knows = false;
  CHECK_FALSE(chain.ask()->at(0).known());
  CHECK(chain.namer.source() == "first");
}

TEST_CASE("when none is left the error tells of all") {
  Chain chain;
  chain.first.works = false;
  chain.second.opens = false;
  for (int i = 0; i < 2; ++i) {
    const auto failed = chain.ask();
    REQUIRE_FALSE(failed.ok());
    CHECK(failed.error().kind == ErrorKind::kUnsupported);
    CHECK(failed.error().message() == "cannot name kernel addresses: first broke; then second is closed; be root");
  }
  CHECK(chain.namer.source() == "none");
  CHECK(chain.second.opened == 1);
}

TEST_CASE("a privilege that is missing is the answer, and the next source is not even opened") {
  Chain chain;
  chain.first.opens = false;
  chain.first.closed = ErrorKind::kPrivilege;
  for (int i = 0; i < 2; ++i) {
    const auto opened = chain.namer.open();
    REQUIRE_FALSE(opened.ok());
    CHECK(opened.error().kind == ErrorKind::kPrivilege);
    CHECK(opened.error().message() == "first is closed; be root");
  }
  CHECK(chain.second.opened == 0);
}

TEST_CASE("a chain without sources says so") {
  ChainNamer none({});
  CHECK(none.open().error().kind == ErrorKind::kUnsupported);
}
