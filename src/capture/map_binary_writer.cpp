// SPDX-License-Identifier: Apache-2.0
#include "capture/map_binary_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/json.h"
#include "capture/map_binary.h"

namespace stackmap {

namespace {

constexpr uint32_t kMaxCount = std::numeric_limits<uint32_t>::max();

uint32_t ref_of(const CapturedStack& stack) {
  return static_cast<uint32_t>(std::min<uint64_t>(stack.ref, STACKMAP_MAP_MAX_REF));
}

// Fallbacks have no generation of their own.
Result<uint64_t> count_fallbacks(const Capture& capture, uint32_t generation) {
  std::optional<uint32_t> current;
  uint64_t before = 0;  // before the first cookie
  uint64_t count = 0;
  STACKMAP_TRY(capture.for_each_event([&](const Event& event) {
    if (event.stack.state == StackRef::State::kCookie) {
      if (!current && event.stack.cookie.generation() == generation) {
        count += before;
      }
      current = event.stack.cookie.generation();
    } else if (event.stack.state == StackRef::State::kFallback) {
      before += current ? 0U : 1U;
      count += current == generation ? 1U : 0U;
    }
    return true;
  }));
  return current ? count : before;
}

std::string joined(const std::set<uint32_t>& numbers) {
  std::string text;
  for (const uint32_t number : numbers) {
    fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : ", ", number);
  }
  return text;
}

}  // namespace

Result<MapGeneration> map_generation(const Capture& capture, uint32_t number) {
  STACKMAP_TRY_VALUE(stacks, capture.counted_stacks());
  const Ledger& ledger = capture.ledger();
  const uint64_t counted_one = ledger.get("map.generation");
  std::set<uint32_t> known;
  for (const CapturedStack& stack : stacks) {
    known.insert(stack.cookie.generation());
  }
  if (counted_one != 0 && counted_one <= kMaxCount) {
    known.insert(static_cast<uint32_t>(counted_one));
  }
  if (known.empty()) {
    return make_error(ErrorKind::kNotFound, capture.name() + " holds no stack map");
  }
  MapGeneration generation;
  generation.number = number != 0 ? number : *known.rbegin();
  if (!known.contains(generation.number)) {
    return make_error(ErrorKind::kNotFound, fmt::format("{} has no generation {}", capture.name(), number),
                      fmt::format("it has {}", joined(known)));
  }
  generation.capacity = capture.info().map_capacity;
  generation.max_depth = capture.info().max_depth;
  generation.address = [&capture](uint64_t frame) { return capture.address(frame); };
  for (const CapturedStack& stack : stacks) {
    if (stack.cookie.generation() == generation.number) {
      generation.stacks.push_back(stack);
      generation.successes += stack.ref;
    }
  }
  if (generation.number == counted_one) {
    generation.counted = true;
    generation.capacity = static_cast<uint32_t>(std::min<uint64_t>(ledger.get("map.capacity"), kMaxCount));
    generation.successes = ledger.get("map.successes");
    generation.fallbacks = ledger.get("map.fallbacks");
  } else {
    STACKMAP_TRY_VALUE(fallbacks, count_fallbacks(capture, generation.number));
    generation.fallbacks = fallbacks;
  }
  return generation;
}

Result<void> write_map_binary(const MapGeneration& generation, TextWriter& out) {
  std::vector<const CapturedStack*> order;
  std::ranges::transform(generation.stacks, std::back_inserter(order), [](const CapturedStack& s) { return &s; });
  std::ranges::sort(order, {}, [](const CapturedStack* stack) { return stack->cookie; });
  std::string records;
  ByteWriter writer(records);
  size_t deepest = generation.max_depth;
  uint64_t frames = 0;
  for (const CapturedStack* stack : order) {
    deepest = std::max(deepest, stack->frames.size());
    frames += stack->frames.size();
    writer.fixed(stack->cookie.slot());
    writer.fixed(ref_of(*stack));
    writer.fixed(static_cast<uint32_t>(stack->frames.size()));
    writer.fixed(uint32_t{0});
    for (const uint64_t frame : stack->frames) {
      writer.fixed(generation.address ? generation.address(frame) : frame);
    }
  }
  if (deepest > kMaxCount || order.size() > kMaxCount) {
    return make_error(ErrorKind::kFailed, "the map is too large for its binary form");
  }
  std::string header = STACKMAP_MAP_MAGIC;
  ByteWriter head(header);
  head.fixed(uint32_t{STACKMAP_MAP_HEADER_BYTES});
  head.fixed(uint32_t{STACKMAP_MAP_VERSION});
  head.fixed(generation.number);
  head.fixed(generation.capacity);
  head.fixed(static_cast<uint32_t>(order.size()));
  head.fixed(static_cast<uint32_t>(deepest));
  head.fixed(generation.successes);
  head.fixed(generation.fallbacks);
  head.fixed(frames);
  head.fixed(generation.counted ? uint32_t{STACKMAP_MAP_COUNTED} : uint32_t{0});
  head.fixed(crc32c(bytes_of(records)));
  const std::string reserved(4, '\0');
  head.fixed(crc32c(bytes_of(header + reserved)));
  out.write(header + reserved);
  out.write(records);
  return {};
}

void write_map_json(const MapGeneration& generation, const std::function<std::string(uint64_t)>& symbol_text,
                    TextWriter& out) {
  out.write(fmt::format(
      "{{\"generation\":{},\"capacity\":{},\"entries\":{},\"successes\":{},\"fallbacks\":{},\"stacks\":[",
      generation.number, generation.capacity, generation.stacks.size(), generation.successes, generation.fallbacks));
  std::unordered_map<uint64_t, std::string> names;  // by address: most frames are in many stacks
  std::string_view separator = "\n";
  for (const CapturedStack& stack : generation.stacks) {
    out.write(fmt::format("{}{{\"slot\":{},\"gen\":{},\"ref\":{},\"frames\":[", separator, stack.cookie.slot(),
                          stack.cookie.generation(), ref_of(stack)));
    separator = ",\n";
    std::string_view comma;
    for (const uint64_t address : stack.frames) {
      const auto [name, added] = names.try_emplace(address);
      if (added) {
        name->second = json_string(symbol_text(address));
      }
      out.write(comma);
      out.write(name->second);
      comma = ",";
    }
    out.write("]}");
  }
  out.write("\n]}\n");
}

}  // namespace stackmap
