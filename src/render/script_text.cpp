// SPDX-License-Identifier: Apache-2.0
#include "render/script_text.h"

#include <fmt/format.h>

#include <iterator>
#include <unordered_map>

#include "base/text.h"
#include "render/clean_text.h"

namespace stackmap {

std::string task_state_text(uint64_t state) {
  // The kernel's report bits (include/linux/sched.h), lowest first; TASK_REPORT_MAX above them means "preempted".
  static constexpr std::string_view kLetters = "SDTtXZPI";
  constexpr uint64_t kPreempted = 0x100;
  std::string text;
  for (size_t bit = 0; bit < kLetters.size(); ++bit) {
    if ((state >> bit & 1) != 0) {
      fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : "|", kLetters[bit]);
    }
  }
  return fmt::format("{}{}", text.empty() ? "R" : text, (state & kPreempted) != 0 ? "+" : "");
}

std::string field_text(const EventSource& source, FieldFormat format, uint64_t value) {
  switch (format) {
    case FieldFormat::kSigned:
      return std::to_string(static_cast<int64_t>(value));
    case FieldFormat::kHex:
      return fmt::format("0x{:x}", value);
    case FieldFormat::kString:
      return clean_text(source.string(value));
    case FieldFormat::kTaskState:
      return task_state_text(value);
    case FieldFormat::kUnsigned:
    case FieldFormat::kTid:
    case FieldFormat::kRepeat:
      break;
  }
  return std::to_string(value);
}

namespace {

class ScriptWriter {
 public:
  ScriptWriter(const EventSource& source, const ScriptOptions& options, TextWriter& out)
      : source_(source), options_(options), out_(out), filter_(options.filter), names_(source.tasks()) {
    for (const EventType& type : source.event_types()) {
      types_[type.id] = &type;
    }
  }

  bool take(const Event& event) {
    ++totals_.events;
    if (!filter_.accepts(event)) {
      return true;
    }
    const TaskEra& era = names_.find(event.tid, event.time_ns);
    if (!filter_.accepts(era, names_)) {
      return true;
    }
    ++totals_.printed;
    prefix_.clear();
    const uint64_t us = event.time_ns / 1000 + (event.time_ns % 1000 >= 500 ? 1 : 0);
    fmt::format_to(std::back_inserter(prefix_),
                   "{:>16}-{:<7} [{:03}] ..... {:5}.{:06}: ", clean_text(names_.comm(era.comm)), event.tid, event.cpu,
                   us / 1000000, us % 1000000);
    text_ = prefix_;
    fields(event);
    stack(event.stack);
    out_.write(text_);
    return !out_.failed();
  }

  ScriptTotals totals() const { return totals_; }

 private:
  void fields(const Event& event) {
    const auto found = types_.find(event.type);
    const EventType* type = found != types_.end() ? found->second : nullptr;
    text_ += type != nullptr ? clean_text(type->name) : fmt::format("unknown_event_{}", event.type);
    text_ += ':';
    for (size_t i = 0; i < event.fields.size(); ++i) {
      if (type != nullptr && i < type->fields.size()) {
        const FieldType& field = type->fields[i];
        fmt::format_to(std::back_inserter(text_), " {}{}{}", clean_text(field.name), field.name.empty() ? "" : "=",
                       field_text(source_, field.format, event.fields[i]));
      } else {
        fmt::format_to(std::back_inserter(text_), " field{}={}", i, event.fields[i]);
      }
    }
    text_ += '\n';
  }

  void stack(const StackRef& stack) {
    switch (stack.state) {
      case StackRef::State::kNone:
        break;
      case StackRef::State::kError:
        fmt::format_to(std::back_inserter(text_), "{}<stack error {}>\n", prefix_, errno_name(stack.errnum));
        break;
      case StackRef::State::kFallback:
        frames(stack.frames);
        break;
      case StackRef::State::kCookie:
        cookie(stack.cookie);
        break;
    }
  }

  void cookie(Cookie cookie) {
    const auto held = options_.resolve ? source_.stack(cookie) : std::span<const uint64_t>();
    if (!held.empty()) {
      frames(held);
      return;
    }
    fmt::format_to(std::back_inserter(text_), "{}<stack_id {} gen {}>{}\n", prefix_, cookie.slot(), cookie.generation(),
                   options_.resolve ? why_missing(cookie) : "");
    totals_.missing_stacks += options_.resolve ? 1 : 0;
  }

  std::string why_missing(Cookie cookie) const {
    if (!options_.imported_generations) {
      return " not in the capture";
    }
    if (!options_.imported_generations->contains(cookie.generation())) {
      return fmt::format(" stale: needs the stack_map of generation {}", cookie.generation());
    }
    return fmt::format(" not in the stack_map of generation {}, which was saved before this stack was stored",
                       cookie.generation());
  }

  void frames(std::span<const uint64_t> addresses) {
    text_ += prefix_;
    text_ += "<stack trace>\n";
    for (const uint64_t address : addresses) {
      text_ += symbol_line(address);
    }
  }

  const std::string& symbol_line(uint64_t address) {
    const auto [found, added] = symbol_lines_.try_emplace(address);
    if (added) {
      found->second = fmt::format(" => {}\n", clean_text(source_.symbol_text(address)));
    }
    return found->second;
  }

  const EventSource& source_;
  const ScriptOptions& options_;
  TextWriter& out_;
  EventFilter filter_;
  TaskNames names_;
  std::unordered_map<uint16_t, const EventType*> types_;
  std::unordered_map<uint64_t, std::string> symbol_lines_;
  std::string prefix_;
  std::string text_;
  ScriptTotals totals_;
};

}  // namespace

Result<ScriptTotals> write_script(const EventSource& source, const ScriptOptions& options, TextWriter& out) {
  ScriptWriter writer(source, options, out);
  STACKMAP_TRY(source.for_each_event([&](const Event& event) { return writer.take(event); }));
  return writer.totals();
}

}  // namespace stackmap
