// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbol_cache.h"

#include <algorithm>
#include <random>

#include "support/catch.h"

using namespace stackmap;

namespace {

// Names every address but multiples of ten, and remembers what it was asked.
class FakeNamer : public KernelNamer {
 public:
  Result<std::vector<KernelSymbol>> name(std::span<const uint64_t> addresses, AddressKind kind) override {
    if (failing) {
      return make_error(ErrorKind::kPrivilege, "refused");
    }
    calls.emplace_back(addresses.begin(), addresses.end());
    std::vector<KernelSymbol> symbols;
    for (const uint64_t address : addresses) {
      symbols.push_back(answer(address, kind));
    }
    symbols.resize(symbols.size() - drop);
    return symbols;
  }
  std::string source() const override { return "fake"; }

  KernelSymbol answer(uint64_t address, AddressKind kind) const {
    if (address % 10 == 0) {
      return {};
    }
    const char* prefix = kind == AddressKind::kExact ? "exact_" : "return_";
    return {prefix + std::to_string(address) + suffix, address % 7, 7, address % 2 == 0 ? "mod" : ""};
  }

  std::vector<std::vector<uint64_t>> calls;
  std::string suffix;
  bool failing = false;
  size_t drop = 0;
};

struct Cached {
  explicit Cached(size_t limit = SymbolCache::kDefaultBytes) : Cached(std::make_unique<FakeNamer>(), limit) {}
  Cached(std::unique_ptr<FakeNamer> namer, size_t limit) : fake(*namer), cache(std::move(namer), limit) {}

  std::string text(uint64_t address, AddressKind kind = AddressKind::kReturn) {
    const auto named = cache.name(std::span(&address, 1), kind);
    REQUIRE(named.ok());
    REQUIRE(named->size() == 1);
    return named->front().text(address);
  }

  FakeNamer& fake;
  SymbolCache cache;
};

using Addresses = std::vector<uint64_t>;

}  // namespace

TEST_CASE("a name is asked for once") {
  Cached cached;
  CHECK(cached.text(5) == "return_5+0x5/0x7");
  CHECK(cached.text(5) == "return_5+0x5/0x7");
  CHECK(cached.fake.calls == std::vector<Addresses>{{5}});
  CHECK(cached.cache.hits() == 1);
  CHECK(cached.cache.misses() == 1);
  CHECK(cached.cache.entries() == 1);
  CHECK(cached.cache.source() == "fake");
}

TEST_CASE("return and exact addresses are two things") {
  Cached cached;
  CHECK(cached.text(5, AddressKind::kReturn) == "return_5+0x5/0x7");
  CHECK(cached.text(5, AddressKind::kExact) == "exact_5+0x5/0x7");
  CHECK(cached.text(5, AddressKind::kReturn) == "return_5+0x5/0x7");
  CHECK(cached.cache.entries() == 2);
}

TEST_CASE("one call asks the source once, for what is missing, each address once") {
  Cached cached;
  (void)cached.text(2);
  const Addresses addresses = {1, 2, 3, 1, 10, 3, 2, 10};
  const auto named = cached.cache.name(addresses, AddressKind::kReturn);
  REQUIRE(named.ok());
  REQUIRE(named->size() == addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    CHECK((*named)[i] == cached.fake.answer(addresses[i], AddressKind::kReturn));
  }
  CHECK(cached.fake.calls == std::vector<Addresses>{{2}, {1, 3, 10}});
  CHECK(cached.cache.hits() == 2);
  CHECK(cached.cache.misses() == 1 + 6);
}

TEST_CASE("an address without a name is asked for again") {
  Cached cached;
  CHECK(cached.text(20) == "0x14");
  CHECK(cached.text(20) == "0x14");
  CHECK(cached.fake.calls.size() == 2);
  CHECK(cached.cache.entries() == 0);
}

TEST_CASE("clear() forgets") {
  Cached cached;
  (void)cached.text(5);
  cached.fake.suffix = "_new";
  CHECK(cached.text(5) == "return_5+0x5/0x7");
  cached.cache.clear();
  CHECK(cached.cache.entries() == 0);
  CHECK(cached.cache.memory() == 0);
  CHECK(cached.text(5) == "return_5_new+0x5/0x7");
}

TEST_CASE("clear() forgets both generations") {
  Cached cached(8 << 10);
  for (uint64_t address = 1; address < 200; address += 2) {
    (void)cached.text(address);
  }
  REQUIRE(cached.cache.entries() < 100);  // so the limit was met, and there is an old generation
  cached.cache.clear();
  CHECK(cached.cache.entries() == 0);
  CHECK(cached.cache.memory() == 0);
}

TEST_CASE("a source that fails is passed on, and what was known stays") {
  Cached cached;
  (void)cached.text(5);
  cached.fake.failing = true;
  const Addresses both = {5, 6};
  const auto failed = cached.cache.name(both, AddressKind::kReturn);
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().kind == ErrorKind::kPrivilege);
  CHECK(cached.text(5) == "return_5+0x5/0x7");
  cached.fake.failing = false;
  CHECK(cached.text(6) == "return_6+0x6/0x7 [mod]");
}

TEST_CASE("a source that answers too little is an error") {
  Cached cached;
  cached.fake.drop = 1;
  const Addresses addresses = {5, 6};
  CHECK_FALSE(cached.cache.name(addresses, AddressKind::kReturn).ok());
  CHECK(cached.cache.entries() == 0);
}

TEST_CASE("nothing asked, nothing done") {
  Cached cached;
  const auto named = cached.cache.name({}, AddressKind::kReturn);
  REQUIRE(named.ok());
  CHECK(named->empty());
  CHECK(cached.fake.calls.empty());
}

TEST_CASE("memory stays within the limit and answers stay right") {
  constexpr size_t kLimit = 64 << 10;
  Cached cached(kLimit);
  cached.fake.suffix = std::string(100, 's');
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t address = 1 + random() % 5000;
    const AddressKind kind = random() % 2 == 0 ? AddressKind::kReturn : AddressKind::kExact;
    REQUIRE(cached.text(address, kind) == cached.fake.answer(address, kind).text(address));
    REQUIRE(cached.cache.memory() <= kLimit);
  }
  CHECK(cached.cache.entries() > 50);
  CHECK(cached.cache.hits() > 0);
}

TEST_CASE("moving everything to the young generation keeps to the limit") {
  constexpr size_t kLimit = 32 << 10;
  Cached cached(kLimit);
  for (uint64_t round = 0; round < 20; ++round) {
    // New ones up to nearly the limit, then all of them again, then more new ones.
    for (const uint64_t count : {150U, 150U, 250U}) {
      for (uint64_t i = 0; i < count; ++i) {
        (void)cached.text(round * 10000 + 2 * i + 1);
        REQUIRE(cached.cache.memory() <= kLimit);
      }
    }
  }
}

TEST_CASE("what is used stays, what is not goes") {
  Cached cached(32 << 10);
  (void)cached.text(1);
  (void)cached.text(3);
  for (uint64_t address = 1001; address < 3000; address += 2) {
    (void)cached.text(address);
    const size_t entries = cached.cache.entries();
    const size_t memory = cached.cache.memory();
    (void)cached.text(1);
    // It moved to the young generation, or was there: nothing came and, unless the old one went, nothing goes.
    REQUIRE((cached.cache.entries() < entries || cached.cache.memory() == memory));
  }
  const auto asked = [&](uint64_t address) {
    size_t n = 0;
    for (const auto& call : cached.fake.calls) {
      n += static_cast<size_t>(std::count(call.begin(), call.end(), address));
    }
    return n;
  };
  CHECK(asked(1) == 1);
  (void)cached.text(3);
  CHECK(asked(3) == 2);
}

TEST_CASE("a limit too small for one name is no cache, and no error") {
  Cached cached(16);
  CHECK(cached.text(5) == "return_5+0x5/0x7");
  CHECK(cached.text(5) == "return_5+0x5/0x7");
  CHECK(cached.cache.entries() == 0);
  CHECK(cached.fake.calls.size() == 2);
}
