// SPDX-License-Identifier: Apache-2.0
#include "capture/event_block.h"

#include <random>

#include "base/bytes.h"
#include "support/catch.h"

using namespace stackmap;

namespace {

// An event that owns what Event only points to.
struct Owned {
  Event event;
  std::vector<uint64_t> fields;
  std::vector<uint64_t> frames;

  Event view() const {
    Event e = event;
    e.fields = fields;
    e.stack.frames = frames;
    return e;
  }
};

size_t field_count(uint16_t type) {
  return type == 1 ? 0 : type == 2 ? 3 : type == 4095 ? 16 : 0;
}

void check_equal(const Event& a, const Event& b) {
  REQUIRE(a.time_ns == b.time_ns);
  REQUIRE(a.cpu == b.cpu);
  REQUIRE(a.tid == b.tid);
  REQUIRE(a.type == b.type);
  REQUIRE(a.stack.state == b.stack.state);
  REQUIRE(a.stack.cookie == b.stack.cookie);
  REQUIRE(a.stack.errnum == b.stack.errnum);
  REQUIRE(std::equal(a.stack.frames.begin(), a.stack.frames.end(), b.stack.frames.begin(), b.stack.frames.end()));
  REQUIRE(std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end()));
}

std::vector<Owned> random_events(size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  const uint64_t extremes[] = {0, 1, ~uint64_t{0}, uint64_t{1} << 63, 0xffff888100000000};
  std::vector<Owned> events(n);
  uint64_t now = uint64_t{1} << 40;
  for (Owned& o : events) {
    o.event.time_ns = random() % 50 == 0 ? random() : now += random() % 2000 - 200;
    o.event.cpu = random() % 40 == 0 ? kMaxBlockCpu : static_cast<uint32_t>(random() % 4);
    o.event.tid = random() % 30 == 0 ? UINT32_MAX : static_cast<uint32_t>(random() % 100);
    o.event.type = std::array<uint16_t, 3>{1, 2, 4095}[random() % 3];
    o.event.stack.state = static_cast<StackRef::State>(random() % 4);
    switch (o.event.stack.state) {
      case StackRef::State::kCookie:
        o.event.stack.cookie = Cookie(7, random() % 3 == 0 ? static_cast<uint32_t>(random() % 100000) : 0);
        break;
      case StackRef::State::kFallback:
        o.frames.resize(random() % 128);
        for (uint64_t& frame : o.frames) {
          frame = random() % 9 == 0 ? extremes[random() % 5] : 0xffffffff81000000 + random() % 100000;
        }
        break;
      case StackRef::State::kError:
        o.event.stack.errnum = static_cast<int>(1 + random() % 133);
        break;
      case StackRef::State::kNone:
        break;
    }
    o.fields.resize(field_count(o.event.type));
    for (uint64_t& field : o.fields) {
      field = random() % 4 == 0 ? extremes[random() % 5] : random() % 5000;
    }
  }
  return events;
}

struct Decoded {
  std::vector<Owned> events;
  bool ok = false;
};

Decoded decode(const std::string& payload, uint32_t count) {
  Decoded decoded;
  EventBlockDecoder decoder;
  decoded.ok =
      decoder
          .decode(bytes_of(payload), 7, count, field_count,
                  [&](const Event& e) {
                    decoded.events.push_back(
                        {e, {e.fields.begin(), e.fields.end()}, {e.stack.frames.begin(), e.stack.frames.end()}});
                    return true;
                  })
          .ok();
  return decoded;
}

std::string encode(const std::vector<Owned>& events) {
  EventBlockEncoder encoder;
  for (const Owned& o : events) {
    encoder.add(o.view());
  }
  std::string payload;
  encoder.finish(payload);
  return payload;
}

}  // namespace

TEST_CASE("any events come back as they went in") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto events = random_events(1000, seed);
    const auto decoded = decode(encode(events), 1000);
    REQUIRE(decoded.ok);
    REQUIRE(decoded.events.size() == events.size());
    for (size_t i = 0; i < events.size(); ++i) {
      check_equal(decoded.events[i].view(), events[i].view());
    }
  }
}

TEST_CASE("an encoder starts anew after a block") {
  EventBlockEncoder encoder;
  const auto events = random_events(300, 1);
  std::string first;
  std::string second;
  for (std::string* out : {&first, &second}) {
    for (const Owned& o : events) {
      encoder.add(o.view());
    }
    CHECK(encoder.events() == 300);
    encoder.finish(*out);
    CHECK(encoder.events() == 0);
    CHECK(encoder.generation() == 0);
  }
  CHECK(first == second);
}

TEST_CASE("the block's times are those of its earliest and latest event") {
  EventBlockEncoder encoder;
  for (const uint64_t time : {500U, 300U, 900U}) {
    Event event;
    event.time_ns = time;
    event.type = 1;
    encoder.add(event);
  }
  CHECK(encoder.first_ns() == 300);
  CHECK(encoder.last_ns() == 900);
}

TEST_CASE("the payload is the bytes of FORMAT.md, by hand") {
  EventBlockEncoder encoder;
  Event event;
  event.time_ns = 1000;
  event.cpu = 2;
  event.tid = 5;
  event.type = 2;
  event.stack.state = StackRef::State::kCookie;
  event.stack.cookie = Cookie(7, 300);
  std::array<uint64_t, 3> fields = {1, 2, 3};
  event.fields = fields;
  encoder.add(event);
  event.time_ns = 1010;
  event.tid = 4;
  fields = {1, 3, 2};
  encoder.add(event);
  std::string payload;
  encoder.finish(payload);
  const std::string by_hand = std::string("\x02\xe8\x07\x0a", 4)     // 2 events, base 1000, 10 columns
                              + std::string("\x00\x02\x02\x02", 4)   // type: 2 2
                              + std::string("\x01\x02\x02\x02", 4)   // CPU: 2 2
                              + std::string("\x02\x02\x00\x14", 4)   // time: +0, +10
                              + std::string("\x03\x02\x0a\x01", 4)   // thread: +5, -1
                              + std::string("\x04\x02\x01\x01", 4)   // stack: cookie, cookie
                              + std::string("\x05\x02\x00\x00", 4)   // cookie: index 0 twice
                              + std::string("\x06\x02\xac\x02", 4)   // slot 300, once
                              + std::string("\x60\x02\x02\x00", 4)   // column 64 + 16 x 2 = 96: +1, +0
                              + std::string("\x61\x02\x04\x02", 4)   // +2, +1
                              + std::string("\x62\x02\x06\x01", 4);  // +3, -1
  CHECK(payload == by_hand);
}

TEST_CASE("a slot has one index in a block, whatever its number and whatever came between") {
  SlotIndex slots;
  const auto place = [&](uint32_t slot) {
    const auto [index, is_new] = slots.place(slot);
    return std::pair(index, is_new);
  };
  // More than any map has slots, the first of those, and the last that one may have.
  constexpr uint32_t kFar = 9000000;
  constexpr uint32_t kBound = uint32_t{1} << 23;
  CHECK(place(kFar) == std::pair(0U, true));
  CHECK(place(5) == std::pair(1U, true));
  CHECK(place(kBound / 2 + 1) == std::pair(2U, true));
  CHECK(place(kBound - 1) == std::pair(3U, true));
  CHECK(place(kBound) == std::pair(4U, true));
  CHECK(place(UINT32_MAX) == std::pair(5U, true));
  CHECK(place(kFar) == std::pair(0U, false));
  CHECK(place(5) == std::pair(1U, false));
  CHECK(place(kBound) == std::pair(4U, false));
  slots.clear();
  CHECK(place(5) == std::pair(0U, true));
  CHECK(place(kFar) == std::pair(1U, true));
}

TEST_CASE("unknown columns are skipped") {
  std::string payload = encode(random_events(1, 3));
  // One column more, of id 20, at the end. The count of columns is the byte behind the base time.
  ByteReader reader(bytes_of(payload));
  (void)reader.varint();
  (void)reader.varint();
  const size_t at = payload.size() - reader.remaining();
  REQUIRE(static_cast<unsigned char>(payload[at]) < 100);
  payload[at] = static_cast<char>(payload[at] + 1);
  payload += std::string("\x14\x03xyz", 5);
  CHECK(decode(payload, 1).ok);
}

TEST_CASE("cut or garbled payloads are refused and never read past their end") {
  const auto events = random_events(200, 5);
  const std::string good = encode(events);
  for (size_t cut = 0; cut < good.size(); cut += 7) {
    REQUIRE_FALSE(decode(good.substr(0, cut), 200).ok);
  }
  CHECK_FALSE(decode(good, 199).ok);
  CHECK_FALSE(decode(good, 201).ok);
  std::mt19937 random(9);
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = good;
    bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto decoded = decode(bytes, 200);
    REQUIRE(decoded.events.size() <= 200);
  }
}

TEST_CASE("a fallback of a hostile depth allocates nothing") {
  // One event of type 1 with a fallback of 2^40 frames.
  const std::string payload = std::string("\x01\x00\x06", 3) +
                              std::string("\x00\x01\x01\x01\x01\x00\x02\x01\x00\x03\x01\x00", 12) +
                              std::string("\x04\x01\x02\x07\x06\x80\x80\x80\x80\x80\x20", 11);
  const auto decoded = decode(payload, 1);
  CHECK_FALSE(decoded.ok);
  CHECK(decoded.events.empty());
}
