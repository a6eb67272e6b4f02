// SPDX-License-Identifier: Apache-2.0
#include "session/event_selection.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "base/text.h"

namespace stackmap {

namespace {

class Selector {
 public:
  explicit Selector(const std::vector<Tracepoint>& available) : available_(available) {}

  Result<void> add(std::string_view spec) {
    if (spec == "kmem" || spec == "sched") {
      return add_group(spec);
    }
    const size_t colon = spec.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == spec.size()) {
      return make_error(ErrorKind::kUsage, fmt::format("'{}' is not an event", spec),
                        "write kmem, sched, or category:name as in 'stackmap list'");
    }
    return spec.find_first_of("*?[") == std::string_view::npos ? add_named(spec, colon) : add_glob(std::string(spec));
  }

  EventSelection take() && { return std::move(selection_); }

 private:
  bool has(std::string_view category, std::string_view name) const {
    return std::any_of(available_.begin(), available_.end(),
                       [&](const Tracepoint& t) { return t.category == category && t.name == name; });
  }

  Result<void> add_one(const Tracepoint& tracepoint) {
    const KindInfo* kind = find_kind(tracepoint.category, tracepoint.name);
    if (kind != nullptr && kind->can_be_asked_for()) {
      if (std::find(selection_.kinds.begin(), selection_.kinds.end(), kind->kind) == selection_.kinds.end()) {
        selection_.kinds.push_back(kind->kind);
      }
    } else if (std::ranges::none_of(selection_.any, [&](const Tracepoint& other) { return other == tracepoint; })) {
      if (selection_.any.size() == kMaxAnyEvents) {
        return make_error(ErrorKind::kUsage,
                          fmt::format("more than {} tracepoints without fields of their own", kMaxAnyEvents),
                          "name fewer with -e");
      }
      selection_.any.push_back({tracepoint, {}});
    }
    return {};
  }

  Result<void> add_group(std::string_view group) {
    for (const KindInfo& kind : kinds()) {
      if (kind.category != group || !kind.can_be_asked_for()) {
        continue;
      }
      if (has(kind.category, kind.name)) {
        STACKMAP_TRY(add_one({std::string(kind.category), std::string(kind.name)}));
      } else if (kind.use != KindUse::kOlderEvent) {
        selection_.missing.push_back(fmt::format("{}:{}", kind.category, kind.name));
      }
    }
    return {};
  }

  Result<void> add_named(std::string_view spec, size_t colon) {
    const Tracepoint wanted{std::string(spec.substr(0, colon)), std::string(spec.substr(colon + 1))};
    if (!has(wanted.category, wanted.name)) {
      return make_error(ErrorKind::kUnsupported, fmt::format("this kernel has no event '{}'", spec),
                        "'stackmap list' shows what it has");
    }
    return add_one(wanted);
  }

  Result<void> add_glob(const std::string& pattern) {
    bool found = false;
    for (const Tracepoint& tracepoint : available_) {
      if (::fnmatch(pattern.c_str(), tracepoint.full_name().c_str(), 0) == 0) {
        found = true;
        STACKMAP_TRY(add_one(tracepoint));
      }
    }
    if (!found) {
      return make_error(ErrorKind::kUnsupported, fmt::format("no event of this kernel matches '{}'", pattern),
                        "'stackmap list' shows what it has");
    }
    return {};
  }

  const std::vector<Tracepoint>& available_;
  EventSelection selection_;
};

}  // namespace

Result<EventSelection> select_events(const std::vector<std::string>& specs, const std::vector<Tracepoint>& available) {
  Selector selector(available);
  if (specs.empty()) {
    STACKMAP_TRY(selector.add("kmem"));
    STACKMAP_TRY(selector.add("sched"));
  }
  for (const std::string& spec : specs) {
    for (const std::string_view part : split(spec, ',')) {
      STACKMAP_TRY(selector.add(part));
    }
  }
  return std::move(selector).take();
}

}  // namespace stackmap
