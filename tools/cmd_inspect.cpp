// SPDX-License-Identifier: Apache-2.0
// stackmap inspect: what a capture is, block by block, and with --verify whether all of it is sound.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <map>
#include <memory>

#include "base/log.h"
#include "base/text.h"
#include "capture_input.h"
#include "commands.h"
#include "exit_code.h"
#include "options.h"
#include "output.h"
#include "render/losses.h"
#include "verify.h"

namespace stackmap {

namespace {

struct Options {
  Inputs inputs;
  bool blocks = false;
  bool verify = false;
};

std::string wall_time(uint64_t realtime_ns) {
  const auto seconds = static_cast<time_t>(realtime_ns / 1000000000U);
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(seconds));
}

void write_info(const Capture& capture, TextWriter& out) {
  const CaptureInfo& info = capture.info();
  const bool imported = capture.ledger().has("import.events");
  const auto line = [&](std::string_view key, const std::string& value) {
    out.write(fmt::format("{:<16} {}\n", key, value.empty() ? "-" : printable(value)));
  };
  if (capture.file_count() > 1) {
    line("recording", fmt::format("{}, {} files", capture.name(), capture.file_count()));
  } else {
    line("file", capture.name());
  }
  line(imported ? "imported by" : "recorded by", info.tool);
  line("command", info.command);
  // An import knows nothing of the machine that its text is from.
  if (!imported) {
    line("kernel", fmt::format("{} {}", info.host.kernel_release, info.host.machine));
    line("build id", info.host.kernel_build_id);
    line("boot id", info.host.boot_id);
  }
  line("names from", info.symbol_source);
  if (!imported) {
    line("stack map", fmt::format("{} stacks of {} frames", info.map_capacity, info.max_depth));
    line("ring", human_size(info.ring_bytes) + " a CPU");
  }
  if (info.session != 0 && capture.file_count() == 1) {
    line("segment", fmt::format("{} of a recording", info.segment));
  }
  if (!info.anchors.empty()) {
    line("began", wall_time(info.anchors.front().realtime_ns));
    line("last flush", wall_time(info.anchors.back().realtime_ns));
  }
}

std::string_view state_of(const Damage& damage) {
  if (damage.any()) {
    return "damaged";
  }
  return damage.closed ? "whole" : "no end";
}

void write_segments(const Capture& capture, TextWriter& out) {
  out.write(fmt::format("\n{:>8} {:>12} {:>12} {:>16} {:>16}  {:<8} {}\n", "segment", "events", "stored", "first s",
                        "last s", "state", "file, losses"));
  for (const CaptureFile& file : capture.files()) {
    out.write(fmt::format("{:>8} {:>12} {:>12} {:>16.6f} {:>16.6f}  {:<8} {}, {}\n", file.segment, file.events,
                          file.bytes, static_cast<double>(file.first_ns) / 1e9, static_cast<double>(file.last_ns) / 1e9,
                          state_of(file.damage), printable(file.name), one_line_summary(file.ledger)));
  }
  if (!capture.missing_segments().empty()) {
    out.write(capture.missing_segments() + "\n");
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
  for (const CaptureFile& file : capture.files()) {
    out.write(capture.file_count() > 1 ? fmt::format("\n{}\n", printable(file.name)) : "\n");
    out.write(fmt::format("{:>8} {:>10} {:<12} {:>6} {:>9} {:>10} {:>10} {:>16} {:>16}\n", "block", "offset", "kind",
                          "gen", "entries", "raw bytes", "stored", "first s", "last s"));
    for (const BlockInfo& b : file.blocks) {
      out.write(fmt::format("{:>8} {:>10} {:<12} {:>6} {:>9} {:>10} {:>10} {:>16.6f} {:>16.6f}\n", b.sequence, b.offset,
                            block_kind_name(b.kind), b.generation, b.count, b.raw_bytes, b.stored_bytes,
                            static_cast<double>(b.first_ns) / 1e9, static_cast<double>(b.last_ns) / 1e9));
    }
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

Result<int> inspect(const Options& options) {
  STACKMAP_TRY_VALUE(capture, open_capture(options.inputs));
  STACKMAP_TRY_VALUE(verdict, verify(capture));
  STACKMAP_TRY(write_stdout([&](TextWriter& out) -> Result<void> {
    write_info(capture, out);
    if (capture.file_count() > 1) {
      write_segments(capture, out);
    }
    write_event_types(capture, verdict.by_type, out);
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
  if (!verdict.fault.empty()) {
    return make_error(ErrorKind::kCorrupt, "the capture is not sound: " + verdict.fault);
  }
  const std::string cookies = verdict.without_stack == 0
                                  ? "every cookie resolves"
                                  : fmt::format("every cookie resolves but those of {} events, as the import says",
                                                human_count(verdict.without_stack));
  log_note(fmt::format("{} is sound: {} blocks, {} events, {}", capture.name(), capture.blocks().size(),
                       human_count(capture.event_count()), cookies));
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("inspect", "What a capture is, its blocks and losses");
  add_input(*command, options->inputs);
  command->add_flag("--blocks", options->blocks, "List every block");
  command->add_flag("--verify", options->verify, "Check all of it; a fault is a failure that says where");
  command->callback([&action, options] { action = [options] { return inspect(*options); }; });
}

}  // namespace stackmap
