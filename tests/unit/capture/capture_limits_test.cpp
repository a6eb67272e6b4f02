// SPDX-License-Identifier: Apache-2.0
// Captures, and payloads of tables, that ask for more memory than they can be meant to take.
#include <fmt/format.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "capture/block.h"
#include "capture/block_writer.h"
#include "capture/capture.h"
#include "capture/tables.h"
#include "support/catch.h"
#include "support/faulty_file.h"

using namespace stackmap;

namespace {

struct Table {
  BlockKind kind = BlockKind::kAnchors;
  uint32_t count = 0;
  std::string payload;
};

std::string file_of(const std::vector<Table>& tables) {
  auto disk = std::make_shared<stackmap_test::Disk>();
  BlockWriter writer(std::make_unique<stackmap_test::FaultyFile>(disk), 7, 1);
  for (const Table& table : tables) {
    BlockHeader header;
    header.kind = static_cast<uint16_t>(table.kind);
    header.count = table.count;
    REQUIRE(writer.write(header, table.payload));
  }
  return disk->bytes;
}

Capture open(std::string bytes) {
  auto capture = Capture::open(memory_file(std::move(bytes), "memory"));
  REQUIRE(capture);
  return std::move(capture).value();
}

// An anchor of three noughts takes three bytes.
Table anchors(uint32_t count) {
  return {BlockKind::kAnchors, count, std::string(size_t{3} * count, '\0')};
}

const Table kHeaderTable = {BlockKind::kHeader, 0, ""};

}  // namespace

TEST_CASE("tables below 4 MiB are read, however well they compress", "[capture_limits]") {
  const Capture capture = open(file_of({kHeaderTable, anchors(1000000)}));
  CHECK(capture.info().anchors.size() == 1000000);
  CHECK_FALSE(capture.damage().any());
}

TEST_CASE("a table that decompresses to far more than is stored is dropped", "[capture_limits]") {
  const std::string bytes = file_of({kHeaderTable, anchors(1000000), anchors(1000000), anchors(1000)});
  // What the second large one would add is above 4 MiB and 64 times the file.
  REQUIRE(bytes.size() < 20000);
  const Capture capture = open(bytes);
  CHECK(capture.info().anchors.size() == 1001000);
  CHECK(capture.damage().bad_blocks == 1);
  CHECK(capture.damage().first.find("takes the tables to 6000000 bytes") != std::string::npos);
}

TEST_CASE("a large table that is stored as such is read", "[capture_limits]") {
  // Strings that do not compress well: numbers, each in eight hex digits of a mixed number.
  Table strings = {BlockKind::kStrings, 400000, ""};
  for (uint32_t i = 0; i < strings.count; ++i) {
    encode_string(i, fmt::format("{:08x}", i * 2654435761U), strings.payload);
  }
  REQUIRE(strings.payload.size() > size_t{4} << 20);
  const Capture capture = open(file_of({kHeaderTable, strings}));
  CHECK_FALSE(capture.damage().any());
  CHECK(capture.string(399999) == fmt::format("{:08x}", 399999 * 2654435761U));
}

TEST_CASE("a payload whose frame says another size than its header is bad", "[capture_limits]") {
  std::string bytes = file_of({kHeaderTable, anchors(10)});
  const size_t at = bytes.find(std::string("SMCB\x09", 5));
  REQUIRE(at != std::string::npos);
  const size_t header = at - 8;
  bytes.replace(header + 48, 4, std::string("\0\0\0\x04", 4));  // 64 MiB
  const auto block = bytes_of(bytes).subspan(header);
  BlockHeader read;
  CHECK(decode_block_header(block, read) == HeaderFault::kBadChecksum);
  const uint32_t crc = crc32c(block.subspan(8, kBlockHeaderBytes - 12));
  for (size_t i = 0; i < 4; ++i) {
    bytes[header + 76 + i] = static_cast<char>(crc >> (8 * i));
  }
  const Capture capture = open(bytes);
  CHECK(capture.info().anchors.empty());
  CHECK(capture.damage().bad_blocks == 1);
}

TEST_CASE("a type is taken once, however often it is repeated", "[capture_limits]") {
  std::string payload;
  for (int i = 0; i < 100; ++i) {
    encode_event_type({64, "c", fmt::format("n{}", i), {}}, payload);
    encode_event_type({4095, "c", "last", {}}, payload);
  }
  std::vector<EventType> types;
  REQUIRE(decode_event_types(bytes_of(payload), 200, types));
  REQUIRE(types.size() == 2);
  CHECK(types[0].name == "n0");
  REQUIRE(decode_event_types(bytes_of(payload), 200, types));
  CHECK(types.size() == 2);
  std::string beyond;
  encode_event_type({4096, "c", "n", {}}, beyond);
  CHECK_FALSE(decode_event_types(bytes_of(beyond), 1, types));
}

TEST_CASE("a ledger has 131,072 counters at most", "[capture_limits]") {
  Ledger many;
  for (size_t i = 0; i <= kMaxLedgerEntries; ++i) {
    many.set(fmt::format("{:x}", i), i);
  }
  std::string payload;
  encode_ledger(many, payload);
  Ledger ledger;
  CHECK(decode_ledger(bytes_of(payload), kMaxLedgerEntries, ledger));
  CHECK(ledger.entries().size() == kMaxLedgerEntries);
  CHECK_FALSE(decode_ledger(bytes_of(payload), kMaxLedgerEntries + 1, ledger));
  CHECK(ledger.entries().size() == kMaxLedgerEntries);
  CHECK(ledger.get("1ffff") == 0x1ffff);
  CHECK_FALSE(ledger.has("20000"));
}
