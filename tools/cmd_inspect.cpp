// SPDX-License-Identifier: Apache-2.0
// stackmap inspect: what a capture is, block by block, and with --verify whether all of it is sound.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <map>
#include <memory>
#include <unordered_set>

#include "base/log.h"
#include "base/text.h"
#include "commands.h"
#include "exit_code.h"
#include "options.h"
#include "output.h"
#include "report/losses.h"

namespace stackmap {

namespace {

struct Options {
  std::string input;
  bool blocks = false;
  bool verify = false;
};

std::string wall_time(uint64_t realtime_ns) {
  const auto seconds = static_cast<time_t>(realtime_ns / 1000000000U);
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(seconds));
}

void write_info(const Capture& capture, TextWriter& out) {
  const CaptureInfo& info = capture.info();
  const auto line = [&](std::string_view key, const std::string& value) {
    out.write(fmt::format("{:<16} {}\n", key, value.empty() ? "-" : printable(value)));
  };
  line("file", capture.name());
  line("recorded by", info.tool);
  line("command", info.command);
  line("kernel", fmt::format("{} {}", info.host.kernel_release, info.host.machine));
  line("build id", info.host.kernel_build_id);
  line("boot id", info.host.boot_id);
  line("names from", info.symbol_source);
  line("stack map", fmt::format("{} stacks of {} frames", info.map_capacity, info.max_depth));
  line("ring", human_size(info.ring_bytes) + " a CPU");
  if (!info.anchors.empty()) {
    line("began", wall_time(info.anchors.front().realtime_ns));
    line("last flush", wall_time(info.anchors.back().realtime_ns));
  }
}

struct KindSum {
  uint64_t blocks = 0, entries = 0, raw = 0, stored = 0;
};

void write_sums(const Capture& capture, TextWriter& out) {
  std::map<uint16_t, KindSum> sums;
  KindSum all;
  for (const BlockInfo& block : capture.blocks()) {
    KindSum& sum = sums[block.kind];
    for (KindSum* to : {&sum, &all}) {
      ++to->blocks;
      to->raw += block.raw_bytes;
      to->stored += block.stored_bytes;
    }
    sum.entries += block.count;
  }
  out.write(fmt::format("\n{:<12} {:>8} {:>12} {:>12} {:>12}\n", "kind", "blocks", "entries", "raw bytes", "stored"));
  for (const auto& [kind, sum] : sums) {
    out.write(fmt::format("{:<12} {:>8} {:>12} {:>12} {:>12}\n", block_kind_name(kind), sum.blocks, sum.entries,
                          sum.raw, sum.stored));
  }
  out.write(fmt::format("{:<12} {:>8} {:>12} {:>12} {:>12}\n", "all", all.blocks, "", all.raw, all.stored));
  if (capture.event_count() != 0) {
    out.write(fmt::format("{:.2f} bytes an event\n",
                          static_cast<double>(all.stored) / static_cast<double>(capture.event_count())));
  }
}

void write_blocks(const Capture& capture, TextWriter& out) {
  out.write(fmt::format("\n{:>10} {:>8} {:<12} {:>6} {:>9} {:>10} {:>10} {:>16} {:>16}\n", "offset", "sequence", "kind",
                        "gen", "entries", "raw bytes", "stored", "first s", "last s"));
  for (const BlockInfo& b : capture.blocks()) {
    out.write(fmt::format("{:>10} {:>8} {:<12} {:>6} {:>9} {:>10} {:>10} {:>16.6f} {:>16.6f}\n", b.offset, b.sequence,
                          block_kind_name(b.kind), b.generation, b.count, b.raw_bytes, b.stored_bytes,
                          static_cast<double>(b.first_ns) / 1e9, static_cast<double>(b.last_ns) / 1e9));
  }
}

void write_event_types(const Capture& capture, const std::map<uint16_t, uint64_t>& counts, TextWriter& out) {
  out.write("\n");
  for (const EventType& type : capture.event_types()) {
    const auto it = counts.find(type.id);
    if (it != counts.end()) {
      out.write(fmt::format("{:<34} {:>14} events\n", printable(type.full_name()), human_count(it->second)));
    }
  }
}

// Reads every event and holds it against the tables. Empty if all is sound; else the first fault.
Result<std::string> find_fault(const Capture& capture, std::map<uint16_t, uint64_t>& counts) {
  std::string fault;
  uint64_t number = 0;
  std::unordered_map<Cookie, uint64_t> refs;
  std::unordered_set<uint64_t> unnamed;
  STACKMAP_TRY(capture.for_each_event([&](const Event& event) {
    ++counts[event.type];
    ++number;
    if (event.stack.state == StackRef::State::kCookie) {
      ++refs[event.stack.cookie];
      if (fault.empty() && capture.stack(event.stack.cookie).empty()) {
        fault = fmt::format("event {}: <stack_id {} gen {}> has no stack in the capture", number,
                            event.stack.cookie.slot(), event.stack.cookie.generation());
      }
    }
    if (fault.empty() && capture.event_type(event.type) == nullptr) {
      fault = fmt::format("event {}: its type {} is not in the capture", number, event.type);
    }
    return true;
  }));
  if (capture.damage().any()) {
    return capture.damage().first;
  }
  for (const CapturedStack& stack : capture.stacks()) {
    const uint64_t counted = refs[stack.cookie];
    if (fault.empty() && capture.damage().closed && stack.ref < INT32_MAX && stack.ref != counted) {
      fault = fmt::format("<stack_id {} gen {}> has ref {}, and {} events", stack.cookie.slot(),
                          stack.cookie.generation(), stack.ref, counted);
    }
  }
  if (fault.empty() && number != capture.event_count()) {
    fault = fmt::format("{} events were read, the block headers say {}", number, capture.event_count());
  }
  return fault;
}

Result<int> inspect(const Options& options) {
  STACKMAP_TRY_VALUE(capture, open_capture(options.input));
  std::map<uint16_t, uint64_t> counts;
  STACKMAP_TRY_VALUE(fault, find_fault(capture, counts));
  STACKMAP_TRY(write_output("", false, [&](TextWriter& out) -> Result<void> {
    write_info(capture, out);
    write_event_types(capture, counts, out);
    write_sums(capture, out);
    if (options.blocks) {
      write_blocks(capture, out);
    }
    out.write("\n");
    write_losses(capture.ledger(), out);
    return {};
  }));
  tell_damage(capture);
  if (!options.verify) {
    return kDone;
  }
  if (!fault.empty()) {
    return make_error(ErrorKind::kCorrupt, capture.name() + " is not sound: " + fault);
  }
  log_note(fmt::format("{} is sound: {} blocks, {} events, every cookie resolves", capture.name(),
                       capture.blocks().size(), human_count(capture.event_count())));
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("inspect", "What a capture is, its blocks and losses");
  add_input(*command, options->input);
  command->add_flag("--blocks", options->blocks, "List every block");
  command->add_flag("--verify", options->verify, "Check all of it; a fault is a failure that says where");
  command->callback([&action, options] { action = [options] { return inspect(*options); }; });
}

}  // namespace stackmap
