// SPDX-License-Identifier: Apache-2.0
#include "store/flight_recorder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace stackmap {

// A capture in memory: what each append() gave, in pieces that never move.
struct FlightRecorder::Segment {
  struct Piece {
    uint64_t offset = 0;
    std::string bytes;
  };
  std::string name;
  std::vector<Piece> pieces;
  uint64_t size = 0;
  bool complete = false;
};

class FlightRecorder::Writer final : public WritableFile {
 public:
  Writer(FlightRecorder& owner, std::shared_ptr<Segment> segment) : owner_(owner), segment_(std::move(segment)) {}

  Result<void> append(std::span<const std::byte> bytes) override {
    STACKMAP_TRY(owner_.make_room(bytes.size()));
    std::string piece(bytes.size(), '\0');
    std::memcpy(piece.data(), bytes.data(), bytes.size());
    segment_->pieces.push_back({segment_->size, std::move(piece)});
    segment_->size += bytes.size();
    owner_.bytes_ += bytes.size();
    return {};
  }
  // A failed append() has left nothing behind.
  Result<void> truncate(uint64_t size) override {
    return size == segment_->size ? Result<void>() : errno_error_of(EINVAL, "cannot cut " + name() + " back");
  }
  Result<void> sync() override { return {}; }
  const std::string& name() const override { return segment_->name; }

 private:
  FlightRecorder& owner_;
  std::shared_ptr<Segment> segment_;
};

class FlightRecorder::Reader final : public ReadableFile {
 public:
  explicit Reader(std::shared_ptr<const Segment> segment) : segment_(std::move(segment)) {}

  Result<size_t> read_at(uint64_t offset, std::span<std::byte> bytes) const override {
    size_t done = 0;
    auto piece = std::upper_bound(segment_->pieces.begin(), segment_->pieces.end(), offset,
                                  [](uint64_t at, const Segment::Piece& p) { return at < p.offset; });
    if (piece == segment_->pieces.begin()) {
      return done;
    }
    for (--piece; piece != segment_->pieces.end() && done < bytes.size(); ++piece) {
      const uint64_t from = offset + done - piece->offset;
      if (from < piece->bytes.size()) {
        const size_t n = std::min<size_t>(bytes.size() - done, piece->bytes.size() - from);
        std::memcpy(bytes.data() + done, piece->bytes.data() + from, n);
        done += n;
      }
    }
    return done;
  }
  uint64_t size() const override { return segment_->size; }
  const std::string& name() const override { return segment_->name; }

 private:
  std::shared_ptr<const Segment> segment_;
};

FlightRecorder::FlightRecorder(uint64_t bytes) : limit_(std::max(bytes, kMinBytes)) {}

size_t FlightRecorder::block_bytes() const {
  return std::clamp<size_t>(limit_ / kSegments / 2, size_t{8} << 10, size_t{256} << 10);
}

bool FlightRecorder::is_full(uint64_t bytes, uint64_t /*age_ns*/) const {
  return bytes >= limit_ / kSegments;
}

Result<void> FlightRecorder::make_room(uint64_t bytes) {
  // What is being written stays.
  while (bytes_ + bytes > limit_ && segments_.front()->complete) {
    bytes_ -= segments_.front()->size;
    segments_.pop_front();
  }
  if (bytes_ + bytes > limit_) {
    return make_error(ErrorKind::kFailed,
                      "the tables of the newest events alone need more than the " + std::to_string(limit_) +
                          " bytes of the flight recorder",
                      "give it more memory");
  }
  return {};
}

Result<std::unique_ptr<WritableFile>> FlightRecorder::open_next() {
  auto segment = std::make_shared<Segment>();
  segment->name = "flight recorder, part " + std::to_string(++opened_);
  segments_.push_back(segment);
  return std::unique_ptr<WritableFile>(new Writer(*this, std::move(segment)));
}

void FlightRecorder::complete(size_t open) {
  for (size_t i = 0; i + open < segments_.size(); ++i) {
    segments_[i]->complete = true;
  }
}

std::vector<std::unique_ptr<ReadableFile>> FlightRecorder::segments() const {
  std::vector<std::unique_ptr<ReadableFile>> files;
  for (const auto& segment : segments_) {
    if (segment->complete) {
      files.push_back(std::make_unique<Reader>(segment));
    }
  }
  return files;
}

}  // namespace stackmap
