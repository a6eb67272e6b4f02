// SPDX-License-Identifier: Apache-2.0
// Reads a capture with the installed library, and prints its totals: events by type, stacks, losses, the heaviest
// stack.
//
//   c++ -std=c++20 read_capture.cpp $(pkg-config --cflags --libs stackmap_capture) -o read_capture
//   read_capture NAME.smc
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include "capture/capture.h"
#include "capture/losses.h"

namespace {

struct Totals {
  std::map<std::string, uint64_t> events;  // by "category:name"
  std::map<stackmap::Cookie, uint64_t> stacks;
  uint64_t without_cookie = 0;  // a stack in the event itself, an error, or none
};

stackmap::Result<Totals> count(const stackmap::Capture& capture) {
  Totals totals;
  STACKMAP_TRY(capture.for_each_event([&](const stackmap::Event& event) {
    const stackmap::EventType* type = capture.event_type(event.type);
    ++totals.events[type == nullptr ? "unknown" : type->full_name()];
    if (event.stack.state == stackmap::StackRef::State::kCookie) {
      ++totals.stacks[event.stack.cookie];
    } else {
      ++totals.without_cookie;
    }
    return true;  // false stops
  }));
  return totals;
}

void print(const stackmap::Capture& capture, const Totals& totals) {
  for (const auto& [name, events] : totals.events) {
    std::printf("event %s %llu\n", name.c_str(), static_cast<unsigned long long>(events));
  }
  std::printf("stacks %zu\n", capture.stacks().size());
  std::printf("without_cookie %llu\n", static_cast<unsigned long long>(totals.without_cookie));
  const stackmap::Account account = stackmap::account_of(capture.ledger());
  std::printf("lost %llu\n", static_cast<unsigned long long>(account.lost));
  for (const stackmap::Account::Reason& reason : account.reasons) {
    std::printf("lost, %.*s %llu\n", static_cast<int>(reason.words.size()), reason.words.data(),
                static_cast<unsigned long long>(reason.events));
  }
  auto heaviest = totals.stacks.begin();
  for (auto it = totals.stacks.begin(); it != totals.stacks.end(); ++it) {
    heaviest = it->second > heaviest->second ? it : heaviest;
  }
  if (heaviest == totals.stacks.end()) {
    return;
  }
  std::printf("heaviest stack_id %u gen %u events %llu\n", heaviest->first.slot(), heaviest->first.generation(),
              static_cast<unsigned long long>(heaviest->second));
  for (const uint64_t address : capture.stack(heaviest->first)) {
    std::printf(" => %s\n", capture.symbol_text(address).c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    (void)std::fprintf(stderr, "usage: %s NAME.smc\n", argv[0]);
    return 2;
  }
  const auto capture = stackmap::Capture::open(argv[1]);
  if (!capture) {
    (void)std::fprintf(stderr, "%s\n", capture.error().message().c_str());
    return 1;
  }
  const auto totals = count(*capture);
  if (!totals) {
    (void)std::fprintf(stderr, "%s\n", totals.error().message().c_str());
    return 1;
  }
  print(*capture, *totals);
  const stackmap::Damage& damage = capture->damage();
  if (damage.any()) {
    (void)std::fprintf(stderr, "damaged: %s\n", damage.first.c_str());
    return 1;
  }
  return 0;
}
