// SPDX-License-Identifier: Apache-2.0
#include "collector/collector.h"

#include "collector/recording.h"

namespace stackmap {

Result<CollectorResult> Collector::run(const CollectorOptions& options, const Hooks& hooks) {
  Recording recording(options, hooks);
  STACKMAP_TRY(recording.prepare());
  STACKMAP_TRY(recording.start());
  const auto looped = recording.loop();
  auto result = recording.finish();
  if (!result) {
    return result;
  }
  if (!looped) {
    return looped.error();
  }
  return result;
}

}  // namespace stackmap
