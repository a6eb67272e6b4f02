// SPDX-License-Identifier: Apache-2.0
#include "capture_input.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/log.h"
#include "exit_code.h"
#include "profile/aggregate.h"
#include "render/losses.h"

namespace stackmap {

namespace {

void tell_damage_of(const CaptureFile& file) {
  const Damage& damage = file.damage;
  if (damage.any()) {
    std::string text = fmt::format("{} is damaged ({})", file.name, damage.first);
    text += fmt::format(": {} bad blocks, {} missing blocks, {} bytes skipped, {} bytes of an unfinished block",
                        damage.bad_blocks, damage.missing_blocks, damage.bytes_skipped, damage.torn_bytes);
    log_warning(text + "; what is whole is used");
  }
  if (!damage.closed) {
    log_warning(file.name +
                " has no end: it is still being written, or its recorder was killed; "
                "what is missing at the end cannot be told");
  }
  if (damage.unknown_blocks != 0) {
    log_warning(
        fmt::format("{} has {} blocks of a later version, which are skipped", file.name, damage.unknown_blocks));
  }
}

}  // namespace

void tell_damage(const Capture& capture) {
  for (const CaptureFile& file : capture.files()) {
    tell_damage_of(file);
  }
  if (!capture.missing_segments().empty()) {
    log_warning(fmt::format("{}: {}; the others are used", capture.name(), capture.missing_segments()));
  }
}

namespace {

// The files at the end that are of one recording; none if the last one cannot be read.
std::vector<std::string> newest_recording(const std::vector<std::string>& files) {
  std::vector<std::string> newest;
  uint64_t session = 0;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const auto capture = Capture::open(*file);
    if (!capture || (!newest.empty() && (session == 0 || capture->info().session != session))) {
      break;
    }
    session = capture->info().session;
    newest.insert(newest.begin(), *file);
  }
  return newest;
}

}  // namespace

Result<Capture> open_capture(const Inputs& inputs) {
  STACKMAP_TRY_VALUE(files, capture_files(inputs));
  auto capture = Capture::open(files);
  // Of a name that several recordings have, one for each start of the recorder, the newest is meant.
  const bool by_name = inputs.size() == 1 && files.size() > 1 && !std::filesystem::is_directory(inputs.front());
  if (capture || capture.error().kind != ErrorKind::kUsage || !by_name) {
    return capture;
  }
  const auto newest = newest_recording(files);
  if (newest.empty() || newest.size() == files.size()) {
    return capture;
  }
  log_note(fmt::format("{} has several recordings; this is the newest, {}{}. Name the files of another to read it",
                       inputs.front(), newest.front(), newest.size() > 1 ? " to " + newest.back() : ""));
  return Capture::open(newest);
}

Result<int> with_capture(const Inputs& inputs, const NameOptions& names,
                         const std::function<Result<void>(const Capture&, const LentNames*)>& work) {
  STACKMAP_TRY_VALUE(capture, open_capture(inputs));
  STACKMAP_TRY_VALUE(lent, names.open(capture));
  STACKMAP_TRY(work(capture, lent.get()));
  tell_damage(capture);
  return kDone;
}

void ProfileOptions::add_to(CLI::App& command) {
  filter.add_to(command);
  weight.add_to(command);
  names.add_to(command);
}

Result<Profile> ProfileOptions::make(const Capture& capture, const LentNames* lent) const {
  STACKMAP_TRY_VALUE(event_filter, filter.filter(capture));
  STACKMAP_TRY_VALUE(profile, make_profile(capture, event_filter, weight.aggregate_options(), lent));
  profile.title = capture_base(capture.name());
  profile.losses = one_line_summary(capture.ledger());
  return profile;
}

}  // namespace stackmap
