// SPDX-License-Identifier: Apache-2.0
#include "capture/map_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"

namespace stackmap {

namespace {

constexpr uint64_t kMaxRef = std::numeric_limits<int32_t>::max();
constexpr std::string_view kFrameMark = " => ";

// Takes `word` from the front of `text`.
bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) {
    return false;
  }
  text.remove_prefix(word.size());
  return true;
}

// Takes a decimal number as the kernel prints it: digits alone, no noughts before them.
bool take_number(std::string_view& text, uint32_t& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto length = static_cast<size_t>(end - text.data());
  if (code != std::errc() || (length > 1 && text.front() == '0')) {
    return false;
  }
  text.remove_prefix(length);
  return true;
}

class MapParser {
 public:
  MapParser(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  Result<std::vector<MapFileRecord>> parse() {
    while (!rest_.empty()) {
      STACKMAP_TRY(record());
    }
    return std::move(records_);
  }

 private:
  Error bad(std::string_view reason) const {
    return make_error(ErrorKind::kCorrupt, fmt::format("{}:{}: {}", name_, line_, reason));
  }

  // The next line, without its end. Nothing if the text ends first.
  std::optional<std::string_view> next_line() {
    ++line_;
    const size_t end = rest_.find('\n');
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }

  Result<void> record() {
    const auto line = next_line();
    if (!line) {
      return bad("the last line has no end");
    }
    std::string_view text = *line;
    uint32_t slot = 0;
    uint32_t generation = 0;
    uint32_t ref = 0;
    uint32_t depth = 0;
    const bool whole = take_word(text, "stack_id ") && take_number(text, slot) && take_word(text, " gen ") &&
                       take_number(text, generation) && take_word(text, " ref ") && take_number(text, ref) &&
                       take_word(text, " depth ") && take_number(text, depth) && text.empty();
    if (!whole) {
      return bad("expected 'stack_id N gen G ref R depth D'");
    }
    if (ref > kMaxRef) {
      return bad("ref is above 2147483647");
    }
    MapFileRecord record{Cookie(generation, slot), ref, {}};
    if (!seen_.insert(record.cookie).second) {
      return bad(fmt::format("stack_id {} gen {} is here twice", slot, generation));
    }
    for (uint32_t i = 0; i < depth; ++i) {
      STACKMAP_TRY(frame(record, depth));
    }
    records_.push_back(std::move(record));
    return {};
  }

  Result<void> frame(MapFileRecord& record, uint32_t depth) {
    const bool end = rest_.empty();
    const auto line = next_line();
    if (!line) {
      return end ? bad(fmt::format("the text ends after {} of {} frames", record.frames.size(), depth))
                 : bad("the last line has no end");
    }
    std::string_view text = *line;
    if (!take_word(text, kFrameMark) || text.empty()) {
      return bad(fmt::format("expected ' => SYMBOL', frame {} of {}", record.frames.size() + 1, depth));
    }
    record.frames.emplace_back(text);
    return {};
  }

  std::string_view rest_;
  const std::string& name_;
  uint64_t line_ = 0;
  std::unordered_set<Cookie> seen_;
  std::vector<MapFileRecord> records_;
};

}  // namespace

void write_map_file(std::span<const CapturedStack> stacks, const std::function<std::string(uint64_t)>& symbol_text,
                    TextWriter& out) {
  std::vector<const CapturedStack*> order;
  order.reserve(stacks.size());
  std::ranges::transform(stacks, std::back_inserter(order), [](const CapturedStack& stack) { return &stack; });
  std::ranges::stable_sort(order, {}, [](const CapturedStack* stack) { return stack->cookie; });
  std::unordered_map<uint64_t, std::string> lines;  // by address: most frames are in many stacks
  for (const CapturedStack* stack : order) {
    out.write(fmt::format("stack_id {} gen {} ref {} depth {}\n", stack->cookie.slot(), stack->cookie.generation(),
                          std::min(stack->ref, kMaxRef), stack->frames.size()));
    for (const uint64_t address : stack->frames) {
      const auto [line, added] = lines.try_emplace(address);
      if (added) {
        line->second = fmt::format("{}{}\n", kFrameMark, printable(symbol_text(address)));
      }
      out.write(line->second);
    }
  }
}

Result<void> write_map_text(const Capture& capture, TextWriter& out) {
  STACKMAP_TRY_VALUE(stacks, capture.counted_stacks());
  write_map_file(
      stacks, [&](uint64_t address) { return capture.symbol_text(address); }, out);
  return {};
}

Result<std::vector<MapFileRecord>> parse_map_file(std::string_view text, const std::string& name) {
  return MapParser(text, name).parse();
}

}  // namespace stackmap
