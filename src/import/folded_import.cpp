// SPDX-License-Identifier: Apache-2.0
// Folded stacks: a line a stack, `a;b;c N`, root first, as FlameGraph's stackcollapse scripts, bpftrace and our own
// export write them.
//
// The root is the thread's name, as in our own: each distinct one gets a thread, and a stack of one frame the root
// "all", which our export gives it as well. The others are names, all of each: offsets, brackets, blanks and suffixes
// such as "_[k]" stay. A line is one event, folded:sample, at the time 0, with N in a field of the format kRepeat, so
// that N can be any number of 64 bits and costs nothing.
//
// Blanks around a line, its frames and its count are dropped, and so is a CR at its end; a frame without a name is
// "[empty]". Empty lines, and those that begin with '#', are no stacks. What our export writes as \xNN or \\x is the
// byte again.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "base/saturating.h"
#include "base/text.h"
#include "import/imports.h"
#include "import/text_lines.h"

namespace stackmap {

namespace {

// Longer than any stack of kMaxDepth frames should be; a name can be as long.
constexpr size_t kMaxFoldedLine = size_t{16} << 20;
constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kDigits = "0123456789";

std::string_view without_blanks(std::string_view text) {
  const size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

struct FoldedLine {
  std::string_view stack;
  uint64_t count = 0;
  std::string why;  // it is no stack; empty: it is one
};

FoldedLine no_stack(std::string why) {
  return {{}, 0, std::move(why)};
}

// Why the last word of a line is no count.
std::string why_no_count(std::string_view word) {
  const std::string_view digits = word.substr(word.starts_with('-') ? 1 : 0);
  const size_t point = digits.find_first_not_of(kDigits);
  if (digits.empty() || point == 0) {
    return "no count behind the stack";
  }
  if (point != std::string_view::npos) {
    const bool fraction =
        digits[point] == '.' && digits.find_first_not_of(kDigits, point + 1) == std::string_view::npos;
    return fraction ? "the count is no whole number" : "no count behind the stack";
  }
  return word.starts_with('-') ? "the count is below 0" : "the count is above 2^64 - 1";
}

// `line` has no blanks around it and is not empty.
FoldedLine parse_folded_line(std::string_view line) {
  if (line.find('\0') != std::string_view::npos) {
    return no_stack("it has a NUL byte, so this is no text");
  }
  const size_t blank = line.find_last_of(kBlanks);
  const std::string_view word = line.substr(blank + 1);
  FoldedLine parsed;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), parsed.count);
  if (code != std::errc() || end != word.data() + word.size()) {
    return no_stack(why_no_count(word));
  }
  if (blank == std::string_view::npos) {
    return no_stack("no stack before the count");
  }
  parsed.stack = without_blanks(line.substr(0, blank));
  if (std::ranges::count(parsed.stack, ';') >= static_cast<ptrdiff_t>(CaptureBuilder::kMaxDepth)) {
    return no_stack(fmt::format("a stack of more than {} frames", CaptureBuilder::kMaxDepth));
  }
  return parsed;
}

// Whether the last frame ends in a number of its own: a differential file's counts before and after look so.
bool ends_in_a_number(std::string_view stack) {
  const size_t digits = stack.find_last_not_of(kDigits) + 1;
  return digits != 0 && digits < stack.size() && kBlanks.find(stack[digits - 1]) != std::string_view::npos;
}

// The byte that "\xNN" at `at` stands for, where our export would write it so.
std::optional<char> escaped_byte(std::string_view text, size_t at) {
  uint8_t byte = 0;
  const char* const hex = text.data() + at + 2;
  if (text.size() - at < 4 || !text.substr(at).starts_with("\\x") ||
      std::from_chars(hex, hex + 2, byte, 16).ptr != hex + 2) {
    return std::nullopt;
  }
  const bool written = (byte != 0 && byte < 0x20) || byte >= 0x7f || (byte == '#' && at == 0);
  return written ? std::optional(static_cast<char>(byte)) : std::nullopt;
}

std::string frame_name(std::string_view frame) {
  std::string name;
  for (size_t at = 0; at < frame.size();) {
    if (frame.substr(at).starts_with("\\\\x")) {
      name += "\\x";
      at += 3;
    } else if (const auto byte = escaped_byte(frame, at)) {
      name += *byte;
      at += 4;
    } else {
      name += frame[at++];
    }
  }
  return name.empty() ? "[empty]" : name;
}

class FoldedImport {
 public:
  static Result<Import> read(const ImportInput& input);

 private:
  FoldedImport() { type_ = capture_.add_type("folded", "sample", {{"samples", FieldFormat::kRepeat}}); }
  void take(const FoldedLine& line);
  uint32_t thread_of(const std::string& root);
  Import finish();

  CaptureBuilder capture_{FrameText::kName};
  uint16_t type_ = 0;
  std::unordered_map<std::string, uint32_t> threads_;  // by root
  std::vector<uint64_t> frames_;                       // of the stack at hand, innermost first
  bool overflow_ = false;
  uint64_t samples_ = 0;
  uint64_t deep_ = 0;  // stacks without a cookie
  uint64_t two_numbers_ = 0;
  SkippedLines skipped_;
};

Result<Import> FoldedImport::read(const ImportInput& input) {
  FoldedImport import;
  LineReader lines(input.file.text);
  while (const auto line = lines.next()) {
    if (!line->ended) {
      import.skipped_.add(input.file.name, *line, "it has no line break, so it may be cut");
      continue;
    }
    if (line->text.size() > kMaxFoldedLine) {
      import.skipped_.add(input.file.name, *line, fmt::format("longer than {}", human_size(kMaxFoldedLine)));
      continue;
    }
    std::string_view text = line->text;
    text.remove_suffix(text.ends_with('\r') ? 1 : 0);
    text = without_blanks(text);
    if (text.empty() || text.front() == '#') {
      continue;
    }
    const FoldedLine folded = parse_folded_line(text);
    if (folded.why.empty()) {
      import.take(folded);
    } else {
      import.skipped_.add(input.file.name, *line, folded.why);
    }
  }
  if (import.capture_.events() == 0) {
    return make_error(ErrorKind::kCorrupt, import.skipped_.count() == 0
                                               ? input.file.name + " has no stacks"
                                               : "no line of it is a folded stack: " + import.skipped_.first());
  }
  return import.finish();
}

uint32_t FoldedImport::thread_of(const std::string& root) {
  const auto [found, is_new] = threads_.try_emplace(root, static_cast<uint32_t>(threads_.size() + 1));
  if (is_new) {
    capture_.threads().see(0, found->second, 0, root);
  }
  return found->second;
}

void FoldedImport::take(const FoldedLine& line) {
  std::string root = "all";
  std::string_view rest = line.stack;
  if (const size_t end = rest.find(';'); end != std::string_view::npos) {
    root = frame_name(without_blanks(rest.substr(0, end)));
    rest.remove_prefix(end + 1);
  }
  frames_.clear();
  for (const std::string_view frame : split(rest, ';')) {
    frames_.push_back(capture_.names().address(frame_name(without_blanks(frame))));
  }
  std::ranges::reverse(frames_);
  const size_t event = capture_.add_event({0, 0, thread_of(root), type_}, std::span(&line.count, 1));
  capture_.set_stack(event, frames_);
  if (frames_.size() > CaptureBuilder::kMaxCookieDepth) {
    ++deep_;
  }
  overflow_ = overflow_ || samples_ + line.count < samples_;
  add_saturating(samples_, line.count);
  if (ends_in_a_number(line.stack)) {
    ++two_numbers_;
  }
}

Import FoldedImport::finish() {
  capture_.ledger().set("import.events", capture_.events());
  capture_.ledger().set("import.skipped_lines", skipped_.count());
  Import import{std::move(capture_), {}, fmt::format("samples: {}", human_count(samples_))};
  if (deep_ != 0) {
    import.summary += fmt::format("; stacks of more than {} frames, which stand in their events: {}",
                                  CaptureBuilder::kMaxCookieDepth, human_count(deep_));
  }
  if (skipped_.count() != 0) {
    import.warnings.push_back(skipped_.warning());
  }
  if (two_numbers_ != 0) {
    import.warnings.push_back(fmt::format(
        "lines with a number before the count, which is taken for a part of the name: {}; in a differential file it is "
        "the count before",
        human_count(two_numbers_)));
  }
  if (overflow_) {
    import.warnings.emplace_back("the counts add up to more than 2^64 - 1, which is where all sums end");
  }
  return import;
}

}  // namespace

ImportFormat folded_import() {
  ImportFormat format;
  format.name = "folded";
  format.help = "Folded stacks, a line a stack, 'a;b;c N', of any tool: NAME.smc and NAME.map";
  format.file = "FILE";
  format.file_help = "The text; '-': stdin";
  format.symbol_source = "the folded text";
  format.memory_base = size_t{1} << 20;
  format.memory_factor = 128;
  format.read = FoldedImport::read;
  return format;
}

}  // namespace stackmap
