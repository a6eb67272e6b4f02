// SPDX-License-Identifier: Apache-2.0
#include "capture/map_binary.h"

#include <cstring>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "capture/capture_writer.h"
#include "capture/map_binary_writer.h"
#include "support/catch.h"
#include "support/faulty_file.h"
#include "support/memory_file.h"

namespace stackmap {

namespace {

const std::vector<uint64_t> kTwo = {0xffffffff81000010, 0x20};
const std::vector<uint64_t> kOne = {0x1122334455667788};

MapGeneration example() {
  MapGeneration generation;
  generation.number = 7;
  generation.capacity = 16384;
  generation.max_depth = 127;
  generation.successes = 0x123456789a;
  generation.fallbacks = 3;
  generation.counted = true;
  // Not in order of slot, and one ref that does not fit 31 bits.
  generation.stacks = {{Cookie(7, 42), kTwo, 1337}, {Cookie(7, 0), kOne, uint64_t{1} << 40}, {Cookie(7, 50), {}, 0}};
  return generation;
}

std::string binary(const MapGeneration& generation) {
  return stackmap_test::written([&](TextWriter& out) { REQUIRE(write_map_binary(generation, out).ok()); });
}

void put32(std::string& bytes, size_t at, uint32_t value) {
  for (size_t i = 0; i < 4; ++i) {
    bytes[at + i] = static_cast<char>(value >> (8 * i));
  }
}

// Makes the checksums right again, so that what is behind them is reached.
std::string mended(std::string bytes) {
  put32(bytes, 60, crc32c(bytes_of(bytes).subspan(72)));
  put32(bytes, 64, crc32c(bytes_of(bytes.substr(0, 64) + bytes.substr(68, 4))));
  return bytes;
}

struct Parsed {
  int status = 0;
  stackmap_map_header header = {};
  std::vector<stackmap_map_record> records;
};

Parsed parse(const std::string& bytes) {
  Parsed parsed;
  parsed.status = stackmap_map_open(bytes.data(), bytes.size(), &parsed.header);
  stackmap_map_cursor cursor = {0, 0, 0, 0};
  stackmap_map_record record = {};
  while (parsed.status == 0) {
    const int next = stackmap_map_next(bytes.data(), bytes.size(), &parsed.header, &cursor, &record);
    if (next != 1) {
      parsed.status = next;
      break;
    }
    parsed.records.push_back(record);
  }
  return parsed;
}

}  // namespace

TEST_CASE("the binary map has the bytes of its page", "[map_binary]") {
  const std::string bytes = binary(example());
  // 72 of the header, three records of 16, three frames of 8.
  REQUIRE(bytes.size() == 72 + 3 * 16 + 3 * 8);
  std::string expected = "STKMAPB1";
  ByteWriter writer(expected);
  for (const uint32_t value : {72U, 1U, 7U, 16384U, 3U, 127U}) {
    writer.fixed(value);
  }
  for (const uint64_t value : {uint64_t{0x123456789a}, uint64_t{3}, uint64_t{3}}) {
    writer.fixed(value);
  }
  writer.fixed(uint32_t{1});
  CHECK(bytes.substr(0, 60) == expected);
  CHECK(bytes == mended(bytes));
  CHECK(bytes.substr(68, 4) == std::string(4, '\0'));
  CHECK(bytes.substr(72, 24) ==
        std::string("\0\0\0\0\xff\xff\xff\x7f\1\0\0\0\0\0\0\0\x88\x77\x66\x55\x44\x33\x22\x11", 24));
}

TEST_CASE("the C parser reads what was written", "[map_binary]") {
  const std::string bytes = binary(example());
  const Parsed parsed = parse(bytes);
  REQUIRE(parsed.status == 0);
  CHECK(parsed.header.generation == 7);
  CHECK(parsed.header.capacity == 16384);
  CHECK(parsed.header.max_depth == 127);
  CHECK(parsed.header.successes == 0x123456789a);
  CHECK(parsed.header.fallbacks == 3);
  CHECK(parsed.header.flags == STACKMAP_MAP_COUNTED);
  REQUIRE(parsed.records.size() == 3);
  CHECK(parsed.records[0].slot == 0);
  CHECK(parsed.records[0].ref == 2147483647);
  CHECK(stackmap_map_frame(&parsed.records[0], 0) == 0x1122334455667788);
  CHECK(parsed.records[1].slot == 42);
  CHECK(parsed.records[1].ref == 1337);
  REQUIRE(parsed.records[1].depth == 2);
  CHECK(stackmap_map_frame(&parsed.records[1], 0) == 0xffffffff81000010);
  CHECK(stackmap_map_frame(&parsed.records[1], 1) == 0x20);
  CHECK(parsed.records[2].depth == 0);
  CHECK(parse(binary({})).status == 0);
  CHECK(parse(binary({})).records.empty());
}

TEST_CASE("the parser's checksum is the library's", "[map_binary]") {
  CHECK(stackmap_map_crc32c("123456789", 9, 0) == 0xe3069283);  // the check value of CRC-32C
  const std::string bytes = binary(example());
  CHECK(stackmap_map_crc32c(bytes.data(), bytes.size(), 0) == crc32c(bytes_of(bytes)));
}

TEST_CASE("a file cut anywhere is refused", "[map_binary]") {
  const std::string bytes = binary(example());
  for (size_t n = 0; n < bytes.size(); ++n) {
    CAPTURE(n);
    CHECK(parse(bytes.substr(0, n)).status == STACKMAP_MAP_CUT);
  }
  CHECK(parse(bytes + '\0').status == STACKMAP_MAP_DAMAGED);
}

TEST_CASE("a file with any bit flipped is refused", "[map_binary]") {
  const std::string bytes = binary(example());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string bad = bytes;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    CAPTURE(bit);
    CHECK(parse(bad).status < 0);
  }
}

TEST_CASE("contents that contradict the page are refused behind right checksums", "[map_binary]") {
  const std::string bytes = binary(example());
  const auto with = [&](size_t at, uint32_t value) {
    std::string bad = bytes;
    put32(bad, at, value);
    return parse(mended(bad)).status;
  };
  // Records: slot 0 at 72, slot 42 at 96, slot 50 at 128.
  CHECK(with(8, 71) == STACKMAP_MAP_DAMAGED);       // header_size
  CHECK(with(8, 80) < 0);                           // and a larger one moves the records
  CHECK(with(12, 2) == STACKMAP_MAP_LATER);         // version
  CHECK(with(24, 0xffffffff) == STACKMAP_MAP_CUT);  // entries
  CHECK(with(24, 2) == STACKMAP_MAP_DAMAGED);
  CHECK(with(28, 1) == STACKMAP_MAP_DAMAGED);           // max_depth below a depth
  CHECK(with(48, 2) == STACKMAP_MAP_DAMAGED);           // frames_total
  CHECK(with(52, 0xffffffff) == STACKMAP_MAP_DAMAGED);  // whose product overflows
  CHECK(with(76, 0x80000000) == STACKMAP_MAP_DAMAGED);  // ref
  CHECK(with(80, 0xffffffff) == STACKMAP_MAP_DAMAGED);  // depth
  CHECK(with(80, 127) == STACKMAP_MAP_DAMAGED);         // that max_depth allows and the file does not hold
  CHECK(with(80, 0) < 0);                               // that puts the next record on a frame
  CHECK(with(84, 1) == STACKMAP_MAP_DAMAGED);           // reserved
  CHECK(with(96, 0) == STACKMAP_MAP_DAMAGED);           // a slot twice
  CHECK(with(128, 41) == STACKMAP_MAP_DAMAGED);         // slots out of order
  CHECK(with(56, 0xffffffff) == 0);                     // flags of a later writer
  CHECK(parse(std::string("STKMAPB2") + bytes.substr(8)).status == STACKMAP_MAP_NO_MAP);
}

TEST_CASE("a longer header of a later writer is skipped", "[map_binary]") {
  const std::string bytes = binary(example());
  std::string longer = bytes.substr(0, 72) + "new field" + bytes.substr(72);
  put32(longer, 8, 81);
  put32(longer, 64, crc32c(bytes_of(longer.substr(0, 64) + longer.substr(68, 13))));
  const Parsed parsed = parse(longer);
  CHECK(parsed.status == 0);
  CHECK(parsed.records.size() == 3);
}

namespace {

StackRef cookie_ref(uint32_t generation, uint32_t slot) {
  StackRef ref;
  ref.state = StackRef::State::kCookie;
  ref.cookie = Cookie(generation, slot);
  return ref;
}

// Generation 1: one fallback before its first cookie, two cookies, one fallback. Generation 2: a cookie, two fallbacks.
Capture two_generations(bool with_ledger) {
  auto disk = std::make_shared<stackmap_test::Disk>();
  CaptureInfo info;
  info.map_capacity = 64;
  auto writer = std::move(CaptureWriter::create(std::make_unique<stackmap_test::FaultyFile>(disk), info,
                                                {{64, "c", "n", {}}}, {}))
                    .value();
  StackRef fallback;
  fallback.state = StackRef::State::kFallback;
  fallback.frames = kOne;
  const auto add = [&](const StackRef& stack) {
    Event event;
    event.type = 64;
    event.stack = stack;
    REQUIRE(writer->add_event(event).ok());
  };
  writer->add_stack(Cookie(1, 5), kTwo);
  add(fallback);
  add(cookie_ref(1, 5));
  add(cookie_ref(1, 5));
  add(fallback);
  REQUIRE(writer->flush(nullptr).ok());
  writer->add_stack(Cookie(2, 6), kOne);
  add(cookie_ref(2, 6));
  add(fallback);
  add(fallback);
  const std::pair<uint32_t, uint64_t> refs[] = {{5, 2}};
  REQUIRE(writer->write_refs(1, refs).ok());
  Ledger ledger;
  if (with_ledger) {
    ledger.set("map.generation", 2);
    ledger.set("map.capacity", 32);
    ledger.set("map.successes", 100);
    ledger.set("map.fallbacks", 200);
  }
  REQUIRE(writer->close(ledger).ok());
  return std::move(Capture::open(memory_file(disk->bytes, "m"))).value();
}

}  // namespace

TEST_CASE("the last generation has the ledger's numbers, an earlier one is counted", "[map_binary]") {
  const Capture capture = two_generations(true);
  const auto last = map_generation(capture, 0);
  REQUIRE(last.ok());
  CHECK(last->number == 2);
  CHECK(last->counted);
  CHECK(last->capacity == 32);
  CHECK(last->successes == 100);
  CHECK(last->fallbacks == 200);
  REQUIRE(last->stacks.size() == 1);
  CHECK(last->stacks[0].cookie == Cookie(2, 6));

  const auto first = map_generation(capture, 1);
  REQUIRE(first.ok());
  CHECK_FALSE(first->counted);
  CHECK(first->capacity == 64);
  CHECK(first->successes == 2);
  CHECK(first->fallbacks == 2);

  const Capture bare = two_generations(false);
  CHECK(map_generation(bare, 2)->fallbacks == 2);
  CHECK_FALSE(map_generation(bare, 2)->counted);
  const auto none = map_generation(bare, 3);
  CHECK(none.error().message() == "m has no generation 3; it has 1, 2");
}

TEST_CASE("the JSON of a generation", "[map_binary]") {
  const std::string text = stackmap_test::written([&](TextWriter& out) {
    write_map_json(
        example(), [](uint64_t address) { return address == 0x20 ? "a\"b" : "f+0x1/0x2"; }, out);
  });
  CHECK(text ==
        "{\"generation\":7,\"capacity\":16384,\"entries\":3,\"successes\":78187493530,\"fallbacks\":3,\"stacks\":[\n"
        "{\"slot\":42,\"gen\":7,\"ref\":1337,\"frames\":[\"f+0x1/0x2\",\"a\\\"b\"]},\n"
        "{\"slot\":0,\"gen\":7,\"ref\":2147483647,\"frames\":[\"f+0x1/0x2\"]},\n"
        "{\"slot\":50,\"gen\":7,\"ref\":0,\"frames\":[]}\n"
        "]}\n");
}

}  // namespace stackmap
