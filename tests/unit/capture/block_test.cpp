// SPDX-License-Identifier: Apache-2.0
#include "capture/block.h"

#include <cstring>

#include "base/bytes.h"
#include "capture/block_reader.h"
#include "capture/block_writer.h"
#include "support/catch.h"
#include "support/faulty_file.h"

using namespace stackmap;
using stackmap_test::Disk;
using stackmap_test::FaultyFile;

namespace {

constexpr uint64_t kId = 0x1122334455667788;

struct Written {
  std::shared_ptr<Disk> disk = std::make_shared<Disk>();
  BlockWriter writer{std::make_unique<FaultyFile>(disk), kId, 1};

  Result<void> add(uint16_t kind, const std::string& payload) {
    BlockHeader header;
    header.kind = kind;
    header.count = static_cast<uint32_t>(payload.size());
    return writer.write(header, payload);
  }
};

// Three blocks of different payloads.
std::string three_blocks(std::vector<uint64_t>* ends = nullptr) {
  Written w;
  for (uint16_t kind = 1; kind <= 3; ++kind) {
    REQUIRE(w.add(kind, std::string(100 * kind, static_cast<char>('a' + kind))));
    if (ends != nullptr) {
      ends->push_back(w.writer.bytes_written());
    }
  }
  return w.disk->bytes;
}

struct Scanned {
  std::unique_ptr<ReadableFile> file;
  std::unique_ptr<BlockReader> reader;
  std::vector<FoundBlock> blocks;
  ScanFaults faults;
  std::optional<Error> error;

  explicit Scanned(std::string bytes) : file(memory_file(std::move(bytes), "memory")) {
    reader = std::make_unique<BlockReader>(*file);
    auto found = reader->scan(faults);
    if (found) {
      blocks = std::move(found).value();
    } else {
      error = found.error();
    }
  }
  std::string payload(size_t i) {
    auto bytes = reader->payload(blocks[i]);
    return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "?";
  }
};

}  // namespace

TEST_CASE("a block header is the bytes of FORMAT.md") {
  BlockHeader header;
  header.kind = 0x0102;
  header.sequence = 0x1112131415161718;
  header.generation = 0x21222324;
  header.count = 0x31323334;
  header.first_ns = 0x4142434445464748;
  header.last_ns = 0x5152535455565758;
  header.raw_bytes = 0x616263;
  header.stored_bytes = 0x717273;
  header.payload_crc = 0x81828384;
  header.capture_id = 0x9192939495969798;
  const auto bytes = encode_block_header(header);
  ByteReader reader(bytes);
  CHECK(reader.fixed<uint32_t>() == 0x184D2A50);
  CHECK(reader.fixed<uint32_t>() == 72);
  CHECK(reader.text(4) == "SMCB");
  CHECK(reader.fixed<uint16_t>() == header.kind);
  CHECK(reader.fixed<uint16_t>() == 1);
  CHECK(reader.fixed<uint64_t>() == header.sequence);
  CHECK(reader.fixed<uint32_t>() == header.generation);
  CHECK(reader.fixed<uint32_t>() == header.count);
  CHECK(reader.fixed<uint64_t>() == header.first_ns);
  CHECK(reader.fixed<uint64_t>() == header.last_ns);
  CHECK(reader.fixed<uint32_t>() == header.raw_bytes);
  CHECK(reader.fixed<uint32_t>() == header.stored_bytes);
  CHECK(reader.fixed<uint32_t>() == header.payload_crc);
  CHECK(reader.fixed<uint32_t>() == 0);
  CHECK(reader.fixed<uint64_t>() == header.capture_id);
  BlockHeader again;
  CHECK(decode_block_header(bytes, again) == HeaderFault::kNone);
  CHECK(again.sequence == header.sequence);
}

TEST_CASE("any flipped bit of a header is noticed") {
  const auto good = encode_block_header(BlockHeader{});
  BlockHeader header;
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    INFO(bit);
    REQUIRE(decode_block_header(bytes, header) != HeaderFault::kNone);
  }
}

TEST_CASE("what was written is read back, in order") {
  Scanned s(three_blocks());
  REQUIRE(s.blocks.size() == 3);
  CHECK(s.payload(0) == std::string(100, 'b'));
  CHECK(s.payload(2) == std::string(300, 'd'));
  CHECK(s.blocks[1].header.sequence == 1);
  CHECK(s.faults.bad_blocks + s.faults.torn_bytes + s.faults.missing_blocks + s.faults.bytes_skipped == 0);
}

TEST_CASE("a file cut at any byte gives the whole blocks before the cut") {
  std::vector<uint64_t> ends;
  const std::string bytes = three_blocks(&ends);
  for (size_t cut = ends[0]; cut < bytes.size(); ++cut) {
    Scanned s(bytes.substr(0, cut));
    const size_t whole = cut >= ends[1] ? 2 : 1;
    INFO(cut);
    REQUIRE(s.blocks.size() == whole);
    REQUIRE(s.faults.torn_bytes == cut - ends[whole - 1]);
    REQUIRE(s.faults.bad_blocks == 0);
  }
}

TEST_CASE("a damaged header costs its own block") {
  std::vector<uint64_t> ends;
  std::string bytes = three_blocks(&ends);
  bytes[ends[0] + 20] ^= 1;
  Scanned s(bytes);
  REQUIRE(s.blocks.size() == 2);
  CHECK(s.payload(1) == std::string(300, 'd'));
  CHECK(s.faults.bad_blocks == 1);
  CHECK(s.faults.bytes_skipped == ends[1] - ends[0]);
  CHECK(s.faults.missing_blocks == 1);
  CHECK(s.faults.first.find(std::to_string(ends[0])) != std::string::npos);
}

TEST_CASE("a damaged payload costs its own block") {
  std::vector<uint64_t> ends;
  std::string bytes = three_blocks(&ends);
  bytes[ends[0] + kBlockHeaderBytes + 5] ^= 1;
  Scanned s(bytes);
  REQUIRE(s.blocks.size() == 3);
  CHECK(s.payload(1) == "?");
  CHECK(s.payload(2) == std::string(300, 'd'));
}

TEST_CASE("a block of another capture is not taken for this one's") {
  Written other;
  auto disk = std::make_shared<Disk>();
  BlockWriter writer(std::make_unique<FaultyFile>(disk), kId + 1, 1);
  REQUIRE(writer.write({}, "stale"));
  std::vector<uint64_t> ends;
  std::string bytes = three_blocks(&ends);
  Scanned s(bytes.substr(0, ends[0]) + disk->bytes + bytes.substr(ends[0]));
  REQUIRE(s.blocks.size() == 3);
  CHECK(s.payload(1) == std::string(200, 'c'));
}

TEST_CASE("what is no capture, and an empty file, say so") {
  for (const std::string& bytes : {std::string(), std::string("hello"), std::string(5000, '\0')}) {
    Scanned s(bytes);
    REQUIRE(s.error);
    CHECK(s.error->kind == ErrorKind::kCorrupt);
  }
}

TEST_CASE("a later version is refused as such") {
  BlockHeader header;
  header.version = 2;
  const auto bytes = encode_block_header(header);
  Scanned s(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  REQUIRE(s.error);
  CHECK(s.error->message().find("version 2") != std::string::npos);
}

TEST_CASE("a failed write is taken back and can be done again") {
  Written w;
  REQUIRE(w.add(1, "first"));
  w.disk->fail_at = 1;
  w.disk->take = 40;
  REQUIRE_FALSE(w.add(2, "second"));
  REQUIRE(w.add(2, "second"));
  Scanned s(w.disk->bytes);
  REQUIRE(s.blocks.size() == 2);
  CHECK(s.payload(1) == "second");
  CHECK(s.faults.bad_blocks + s.faults.torn_bytes == 0);
}

TEST_CASE("where a torn block cannot be taken back, the next one is still found") {
  Written w;
  REQUIRE(w.add(1, "first"));
  w.disk->fail_at = 1;
  w.disk->take = 90;
  w.disk->truncate_fails = true;
  REQUIRE_FALSE(w.add(2, "second"));
  REQUIRE(w.add(2, "second"));
  Scanned s(w.disk->bytes);
  REQUIRE(s.blocks.size() == 3);
  CHECK(s.payload(0) == "first");
  CHECK(s.payload(1) == "?");
  CHECK(s.payload(2) == "second");
}

TEST_CASE("a size that the payload does not have is refused before anything is allocated for it") {
  BlockHeader header;
  header.raw_bytes = kMaxRawBlock + 1;
  BlockHeader decoded;
  CHECK(decode_block_header(encode_block_header(header), decoded) == HeaderFault::kTooLarge);
}
