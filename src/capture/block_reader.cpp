// SPDX-License-Identifier: Apache-2.0
#include "capture/block_reader.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace stackmap {

BlockReader::BlockReader(const ReadableFile& file) : file_(file), zstd_(ZSTD_createDCtx()) {
  if (zstd_ == nullptr) {
    throw std::bad_alloc();
  }
}

BlockReader::~BlockReader() {
  (void)ZSTD_freeDCtx(zstd_);
}

// The offset of the next bytes that look like the start of a block, at or after `from`; the file's size if there are
// none.
uint64_t BlockReader::find_next(uint64_t from) const {
  // Small at first: where starts of blocks lie close together, each search is a short one.
  constexpr size_t kFirstWindow = 4096;
  constexpr size_t kWindow = size_t{1} << 20;
  size_t ahead = kFirstWindow;
  const std::string_view needle(reinterpret_cast<const char*>(kBlockStart.data()), kBlockStart.size());
  std::string window;
  while (from < file_.size()) {
    window.resize(std::min<uint64_t>(ahead, file_.size() - from));
    const auto n = file_.read_at(from, std::as_writable_bytes(std::span(window)));
    if (!n || *n < needle.size()) {
      break;
    }
    const size_t at = std::string_view(window).substr(0, *n).find(needle);
    if (at != std::string_view::npos) {
      return from + at;
    }
    // The start may lie across the end of the window.
    from += *n - needle.size() + 1;
    ahead = std::min(ahead * 4, kWindow);
  }
  return file_.size();
}

bool BlockReader::starts_block(uint64_t offset) const {
  std::array<std::byte, kBlockStart.size()> bytes;
  const auto n = file_.read_at(offset, bytes);
  return n && *n == bytes.size() && std::memcmp(bytes.data(), kBlockStart.data(), bytes.size()) == 0;
}

struct BlockReader::Search {
  uint64_t size = 0;  // of the file
  uint64_t at = 0;    // where the next header should be
  std::vector<FoundBlock> blocks;
  ScanFaults& faults;

  uint64_t next_sequence() const { return blocks.empty() ? 0 : blocks.back().header.sequence + 1; }
  void note(std::string_view what) const {
    if (faults.first.empty()) {
      faults.first = fmt::format("block {} at byte {}: {}", next_sequence(), at, what);
      faults.first_offset = at;
    }
  }
};

// Of the bytes where a header should be, which are fewer than one has at the end of the file. An error if the file is
// of a later version.
Result<HeaderFault> BlockReader::read_header(const Search& search, std::span<const std::byte> bytes,
                                             BlockHeader& header) const {
  if (bytes.size() < kBlockHeaderBytes) {
    return HeaderFault::kNoMagic;
  }
  const HeaderFault fault = decode_block_header(bytes.first<kBlockHeaderBytes>(), header);
  if (fault == HeaderFault::kBadVersion && search.blocks.empty()) {
    return make_error(ErrorKind::kCorrupt,
                      fmt::format("{} is of format version {}, this program reads up to {}", file_.name(),
                                  header.version, kFormatVersion),
                      "use a later stackmap");
  }
  if (fault == HeaderFault::kNone && !search.blocks.empty() &&
      header.capture_id != search.blocks.front().header.capture_id) {
    return HeaderFault::kBadChecksum;
  }
  return fault;
}

void BlockReader::take_block(Search& search, const BlockHeader& header) const {
  const uint64_t expected = search.next_sequence();
  if (header.sequence > expected) {
    search.note(fmt::format("{} blocks are missing there", header.sequence - expected));
    search.faults.missing_blocks += header.sequence - expected;
  }
  const uint64_t contents = search.at + kBlockHeaderBytes;
  const uint64_t end = contents + header.stored_bytes;
  search.blocks.push_back({search.at, header});
  // A block that was cut short, with others behind it, does not end where one begins. Then what lies inside its
  // stated length is looked at too; whether its own payload is whole, its checksum tells.
  search.at = end == search.size || starts_block(end) ? end : std::min(end, find_next(contents));
}

// Goes on behind what is no block. False if it is the last thing in the file.
bool BlockReader::skip_fault(Search& search, std::span<const std::byte> bytes, HeaderFault fault) const {
  const uint64_t next = find_next(search.at + 1);
  // What begins like a block and has nothing good behind it is the block that was being written.
  const bool starts_right = !bytes.empty() && std::memcmp(bytes.data(), kBlockStart.data(),
                                                          std::min<size_t>(bytes.size(), kBlockStart.size())) == 0;
  if (next == search.size && starts_right && (fault == HeaderFault::kNone || bytes.size() < kBlockHeaderBytes)) {
    search.note("an unfinished block at the end");
    search.faults.torn_bytes += search.size - search.at;
    return false;
  }
  search.note(fault == HeaderFault::kBadChecksum ? "a block header with a wrong checksum" : "no block header");
  ++search.faults.bad_blocks;
  search.faults.bytes_skipped += next - search.at;
  search.at = next;
  return true;
}

Result<std::vector<FoundBlock>> BlockReader::scan(ScanFaults& faults) {
  Search search{.size = file_.size(), .blocks = {}, .faults = faults};
  std::array<std::byte, kBlockHeaderBytes> buffer;
  while (search.at < search.size) {
    STACKMAP_TRY_VALUE(n, file_.read_at(search.at, buffer));
    const auto bytes = std::span<const std::byte>(buffer).first(n);
    BlockHeader header;
    STACKMAP_TRY_VALUE(fault, read_header(search, bytes, header));
    if (fault == HeaderFault::kNone && header.stored_bytes <= search.size - search.at - kBlockHeaderBytes) {
      take_block(search, header);
    } else if (!skip_fault(search, bytes, fault)) {
      break;
    }
  }
  if (search.blocks.empty()) {
    return make_error(ErrorKind::kCorrupt, file_.name() + " is not a stackmap capture",
                      search.size == 0 ? "it is empty" : "no block of one is in it");
  }
  return std::move(search.blocks);
}

Result<std::span<const std::byte>> BlockReader::payload(const FoundBlock& block) {
  const auto bad = [](std::string what) { return make_error(ErrorKind::kCorrupt, std::move(what)); };
  stored_.resize(block.header.stored_bytes);
  STACKMAP_TRY_VALUE(n, file_.read_at(block.offset + kBlockHeaderBytes, std::as_writable_bytes(std::span(stored_))));
  if (n != stored_.size()) {
    return bad("the file ends in it");
  }
  if (crc32c(bytes_of(stored_)) != block.header.payload_crc) {
    return bad("wrong checksum");
  }
  // Room is made only for a frame that does not itself say another size.
  const auto says = ZSTD_getFrameContentSize(stored_.data(), stored_.size());
  if (says == ZSTD_CONTENTSIZE_ERROR || (says != ZSTD_CONTENTSIZE_UNKNOWN && says != block.header.raw_bytes)) {
    return bad("its contents do not decompress to the size it says");
  }
  raw_.resize(block.header.raw_bytes);
  const size_t raw = ZSTD_decompressDCtx(zstd_, raw_.data(), raw_.size(), stored_.data(), stored_.size());
  if (ZSTD_isError(raw) != 0 || raw != raw_.size()) {
    return bad("its contents do not decompress to the size it says");
  }
  return bytes_of(raw_);
}

}  // namespace stackmap
