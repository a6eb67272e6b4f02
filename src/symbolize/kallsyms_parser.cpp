// SPDX-License-Identifier: Apache-2.0
#include "symbolize/kallsyms_parser.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace stackmap {

namespace {

// A line taken apart. The views point into it.
struct Line {
  uint64_t address = 0;
  char type = 0;
  std::string_view symbol;
  std::string_view module;  // empty for the kernel itself
};

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte != 0x7f;
  });
}

bool is_type(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '?';
}
bool is_text(char type) {
  return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

// "address type name[\t[module]]".
std::optional<Line> parse_line(std::string_view text) {
  Line line;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), line.address, 16);
  if (code != std::errc()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (text.size() < 4 || text[0] != ' ' || !is_type(text[1]) || text[2] != ' ') {
    return std::nullopt;
  }
  line.type = text[1];
  text.remove_prefix(3);
  const size_t tab = text.find('\t');
  line.symbol = text.substr(0, tab);
  if (tab != std::string_view::npos) {
    const std::string_view module = text.substr(tab + 1);
    if (module.size() < 3 || module.front() != '[' || module.back() != ']') {
      return std::nullopt;
    }
    line.module = module.substr(1, module.size() - 2);
    if (!is_word(line.module)) {
      return std::nullopt;
    }
  }
  return is_word(line.symbol) ? std::optional(line) : std::nullopt;
}

}  // namespace

KallsymsParser::KallsymsParser(std::string name) {
  out_.name_ = std::move(name);
  out_.owners_ = {"", "bpf"};
  owner_of_ = {{"", uint16_t{0}}, {"bpf", Kallsyms::kBpfOwner}};
}

Result<void> KallsymsParser::feed(std::string_view piece) {
  bytes_ += piece.size();
  if (bytes_ > Kallsyms::kMaxBytes) {
    return make_error(ErrorKind::kFailed, out_.name_ + " is too large for a list of kernel symbols");
  }
  while (!piece.empty()) {
    const size_t end = piece.find('\n');
    const std::string_view part = piece.substr(0, end);
    overlong_ = overlong_ || partial_.size() + part.size() > Kallsyms::kMaxLine;
    if (end == std::string_view::npos) {
      partial_.append(overlong_ ? std::string_view() : part);
      break;
    }
    if (!overlong_ && partial_.empty()) {
      add_line(part);
    } else if (!overlong_) {
      partial_.append(part);
      add_line(partial_);
    }
    partial_.clear();
    overlong_ = false;
    piece.remove_prefix(end + 1);
  }
  return {};
}

void KallsymsParser::add_line(std::string_view text) {
  const auto line = parse_line(text);
  const auto owner = line ? owner_index(line->module) : std::nullopt;
  if (!owner) {
    return;
  }
  highest_ = std::max(highest_, line->address);
  Kallsyms::Symbol symbol;
  symbol.address = line->address;
  symbol.owner = *owner & Kallsyms::kMaxOwner;
  symbol.text = is_text(line->type);
  if (!line->module.starts_with("__builtin__")) {
    symbol.name_at = static_cast<uint32_t>(out_.names_.size());
    symbol.name_size = static_cast<uint16_t>(line->symbol.size());
    out_.names_.append(line->symbol);
  }
  if (line->module.empty()) {
    note_bound(line->symbol, line->address);
    out_.kernel_.push_back(symbol);
  } else {
    out_.others_.push_back(symbol);
  }
}

void KallsymsParser::note_bound(std::string_view symbol, uint64_t address) {
  static constexpr std::array<std::string_view, kBounds> kNames = {"_stext", "_etext",       "_sinittext", "_einittext",
                                                                   "_end",   "__init_begin", "__init_end"};
  // Nearly every name is told apart by its first byte.
  if (symbol.front() != '_') {
    return;
  }
  for (size_t i = 0; i < kBounds; ++i) {
    if (symbol == kNames[i] && !bounds_[i]) {
      bounds_[i] = address;
    }
  }
}

std::optional<uint16_t> KallsymsParser::owner_index(std::string_view module) {
  if (module.empty()) {
    return uint16_t{0};
  }
  const auto known = owner_of_.find(std::string(module));
  if (known != owner_of_.end()) {
    return known->second;
  }
  if (out_.owners_.size() > Kallsyms::kMaxOwner) {
    return std::nullopt;
  }
  const auto index = static_cast<uint16_t>(out_.owners_.size());
  out_.owners_.emplace_back(module);
  owner_of_.emplace(module, index);
  return index;
}

void KallsymsParser::order(std::vector<Kallsyms::Symbol>& symbols) {
  const auto lower = [](const auto& a, const auto& b) { return a.address < b.address; };
  // Stable: of the names of one address the first in the file is the kernel's choice.
  if (!std::is_sorted(symbols.begin(), symbols.end(), lower)) {
    std::stable_sort(symbols.begin(), symbols.end(), lower);
  }
  const auto same = [](const auto& a, const auto& b) { return a.address == b.address; };
  const auto end = std::unique(symbols.begin(), symbols.end(), same);
  symbols.erase(end, symbols.end());
  symbols.shrink_to_fit();
}

Result<void> KallsymsParser::set_ranges() {
  const auto add = [&](Bound first, Bound end) {
    if (bounds_[first] && bounds_[end] && *bounds_[first] < *bounds_[end]) {
      out_.ranges_.push_back({*bounds_[first], *bounds_[end]});
    }
  };
  if (bounds_[kEnd]) {
    add(kText, kEnd);
    add(kInit, kInitEnd);
  } else {
    add(kText, kTextEnd);
    add(kInitText, kInitTextEnd);
  }
  if (out_.ranges_.empty() || out_.ranges_.front().first != bounds_[kText]) {
    return make_error(ErrorKind::kCorrupt, out_.name_ + " does not say where the kernel's text begins and ends");
  }
  return {};
}

Result<Kallsyms> KallsymsParser::finish() {
  if (!partial_.empty() || overlong_) {
    STACKMAP_TRY(feed("\n"));
  }
  if (out_.kernel_.empty() && out_.others_.empty()) {
    return make_error(ErrorKind::kCorrupt, out_.name_ + " holds no symbols");
  }
  if (highest_ == 0) {
    return make_error(ErrorKind::kPrivilege, out_.name_ + " hides its addresses",
                      "run as root (CAP_SYSLOG) and set kernel.kptr_restrict to 0 or 1");
  }
  STACKMAP_TRY(set_ranges());
  order(out_.kernel_);
  order(out_.others_);
  out_.names_.shrink_to_fit();
  return std::move(out_);
}

}  // namespace stackmap
