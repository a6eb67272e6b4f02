// SPDX-License-Identifier: Apache-2.0
// What the tests of profile/ and render/ share: events made by hand, and names that have broken other tools.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profile/event_source.h"
#include "profile/profile.h"
#include "support/memory_file.h"

namespace stackmap::test {

using stackmap_test::written;

class FakeEvents final : public EventSource {
 public:
  FakeEvents() : types_(known_event_types()) {}

  const std::vector<EventType>& event_types() const override { return types_; }
  std::string_view string(uint64_t id) const override {
    const auto it = strings.find(id);
    return it == strings.end() ? std::string_view("?") : it->second;
  }
  std::span<const uint64_t> stack(Cookie cookie) const override {
    ++stack_lookups;
    const auto it = stacks.find(cookie);
    return it == stacks.end() ? std::span<const uint64_t>() : std::span<const uint64_t>(it->second);
  }
  const KernelSymbol* symbol(uint64_t address) const override {
    const auto it = symbols.find(address);
    return it == symbols.end() ? nullptr : &it->second;
  }
  std::string symbol_text(uint64_t address) const override {
    const KernelSymbol* known = symbol(address);
    return known != nullptr ? known->text(address) : KernelSymbol().text(address);
  }
  const TaskTable& tasks() const override { return task_table; }
  uint32_t page_size() const override { return page; }
  Result<void> for_each_event(const std::function<bool(const Event&)>& callback) const override {
    for (const Event& event : events_) {
      if (!callback(event)) {
        return {};
      }
    }
    return broken ? Result<void>(make_error(ErrorKind::kFailed, "cannot read")) : Result<void>();
  }

  Event& add(uint16_t type, std::vector<uint64_t> fields, StackRef stack = {}, uint32_t tid = 1,
             uint64_t time_ns = 100) {
    Event event;
    event.type = type;
    event.tid = tid;
    event.time_ns = time_ns;
    event.stack = stack;
    event.fields = kept_.emplace_back(std::move(fields));
    return events_.emplace_back(event);
  }
  StackRef cookie(uint32_t generation, uint32_t slot) {
    StackRef ref;
    ref.state = StackRef::State::kCookie;
    ref.cookie = Cookie(generation, slot);
    return ref;
  }
  StackRef fallback(std::vector<uint64_t> frames) {
    StackRef ref;
    ref.state = StackRef::State::kFallback;
    ref.frames = kept_.emplace_back(std::move(frames));
    return ref;
  }
  StackRef error(int errnum) {
    StackRef ref;
    ref.state = StackRef::State::kError;
    ref.errnum = errnum;
    return ref;
  }
  void add_type(EventType type) { types_.push_back(std::move(type)); }
  // A thread with one name for good.
  void task(uint32_t tid, std::string comm, uint32_t tgid = 0) {
    task_table.add({0, TaskChange::kSeen, tid, tgid == 0 ? tid : tgid, 0, std::move(comm)});
  }

  std::map<uint64_t, std::string> strings;
  std::map<Cookie, std::vector<uint64_t>> stacks;
  std::map<uint64_t, KernelSymbol> symbols;
  TaskTable task_table;
  uint32_t page = 4096;
  bool broken = false;
  mutable uint64_t stack_lookups = 0;

 private:
  std::vector<EventType> types_;
  std::deque<std::vector<uint64_t>> kept_;
  std::deque<Event> events_;
};

// A weight with the number of events beside it.
inline Profile bytes_profile() {
  return Profile({{"bytes", Unit::kBytes}, {"count", Unit::kEvents}});
}

// Adds a stack of named frames, root first; the first one is the task. The count is for a second column, if there is
// one.
inline void add_stack(Profile& profile, const std::vector<std::string>& names, uint64_t value, uint64_t count = 1) {
  std::vector<FrameId> frames;
  for (const std::string& name : names) {
    frames.push_back(profile.frame(name, frames.empty() ? FrameKind::kTask : FrameKind::kKernel));
  }
  const uint64_t values[] = {value, count};
  profile.add(frames, std::span(values).first(profile.columns().size()));
}

inline const std::vector<std::string>& nasty_names() {
  static const std::vector<std::string> names = {
      "std::_Function_handler<void (vg::Alignment&), main_gaffe(int, char**)::{lambda()#1}>::_M_invoke",
      "std::vector<int, std::allocator<int> >::push_back",
      "<[u8; 100] as core::fmt::Debug>::fmt",
      "V8 worker 7",
      "load 1.5",
      "日本 worker 7",
      "<>&\"'",
      "]]>",
      "&amp;",
      std::string("soh\x01 esc\x1b[31m"),
      "bad\xff\xfeutf8",
      "cut\xe6\x97",
      "[ET_NET 0]",
      "with)paren",
      "    indented",
      "trailing ",
      "   ",
      "",
      "#comment",
      "tab\tnew\nline\r",
      "nel\xc2\x85ls\xe2\x80\xa8rtl\xe2\x80\xae",
      "nonchar\xef\xbf\xbe",
      "0xffffffff81000000",
      "7",
      std::string("nul\0inside", 10),
  };
  return names;
}

}  // namespace stackmap::test
