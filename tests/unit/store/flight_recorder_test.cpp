// SPDX-License-Identifier: Apache-2.0
#include "store/flight_recorder.h"

#include <random>

#include "support/catch.h"

using namespace stackmap;

namespace {

std::string read_all(const ReadableFile& file) {
  std::string bytes(file.size(), '\0');
  REQUIRE(file.read_at(0, std::as_writable_bytes(std::span(bytes))).value() == bytes.size());
  return bytes;
}

}  // namespace

TEST_CASE("what a reader sees is what was appended, from any offset") {
  FlightRecorder flight(1 << 20);
  auto file = flight.open_next().value();
  std::mt19937 random(3);
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    const std::string piece(random() % 50, static_cast<char>('a' + i % 26));
    expected += piece;
    REQUIRE(file->append(piece));
  }
  flight.close_last();
  const auto segments = flight.segments();
  REQUIRE(segments.size() == 1);
  CHECK(segments[0]->size() == expected.size());
  CHECK(read_all(*segments[0]) == expected);
  for (size_t at = 0; at <= expected.size(); at += 7) {
    std::string some(33, '\0');
    const size_t n = segments[0]->read_at(at, std::as_writable_bytes(std::span(some))).value();
    CHECK(some.substr(0, n) == expected.substr(at, 33));
  }
}

TEST_CASE("memory stays within the bound, and the newest is what is kept") {
  constexpr uint64_t kLimit = 256 << 10;
  FlightRecorder flight(kLimit);
  uint64_t written = 0;
  uint64_t segment_bytes = 0;
  auto file = flight.open_next().value();
  for (int i = 0; i < 20000; ++i) {
    REQUIRE(file->append(std::string(1000, 'x')));
    written += 1000;
    segment_bytes += 1000;
    REQUIRE(flight.bytes() <= kLimit);
    if (flight.is_full(segment_bytes, 0)) {
      file = flight.open_next().value();
      flight.close_previous();
      segment_bytes = 0;
    }
  }
  CHECK(written > 50 * kLimit);
  uint64_t held = segment_bytes;
  for (const auto& segment : flight.segments()) {
    held += segment->size();
  }
  CHECK(held == flight.bytes());
  // At most the eighth that was dropped last is missing.
  CHECK(flight.bytes() > kLimit - kLimit / FlightRecorder::kSegments - 2000);
}

TEST_CASE("who reads a capture keeps it") {
  FlightRecorder flight(FlightRecorder::kMinBytes);
  auto file = flight.open_next().value();
  REQUIRE(file->append(std::string(5000, 'a')));
  file = flight.open_next().value();
  flight.close_previous();
  const auto held = flight.segments();
  REQUIRE(held.size() == 1);
  for (int i = 0; i < 100; ++i) {
    REQUIRE(file->append(std::string(8000, 'b')));
    file = flight.open_next().value();
    flight.close_previous();
  }
  CHECK(read_all(*held[0]) == std::string(5000, 'a'));
}

TEST_CASE("what cannot fit says so, and what is being written is not dropped for it") {
  FlightRecorder flight(FlightRecorder::kMinBytes);
  auto file = flight.open_next().value();
  REQUIRE(file->append(std::string(60000, 'a')));
  const auto more = file->append(std::string(10000, 'b'));
  REQUIRE_FALSE(more);
  CHECK(more.error().message().find("65536") != std::string::npos);
  flight.close_last();
  CHECK(read_all(*flight.segments()[0]) == std::string(60000, 'a'));
}
