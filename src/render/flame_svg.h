// SPDX-License-Identifier: Apache-2.0
// A flame graph as a static SVG: no script, valid by the SVG 1.1 DTD whatever bytes the names hold. Pointing at a frame
// shows its name, value and share by means of <title>. The same profile and options give the same bytes.
//
// A browser takes seconds to open more than some 40,000 frames (measured: 38,000 rectangles 2 to 3 s), so frames
// narrower than min_width are not drawn; the picture says how many they are and what they weigh.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "profile/profile.h"

namespace stackmap {

inline constexpr uint64_t kManySvgFrames = 40000;

enum class FlameRoot : uint8_t { kBottom, kTop };

struct FlameOptions {
  FlameRoot root = FlameRoot::kBottom;
  double width = 1200;     // of the picture, in px; 200 to 100,000
  double min_width = 0.1;  // of a frame, in px; 0 draws everything
};

struct FlameSummary {
  uint64_t drawn = 0;                 // frames
  uint64_t pruned = 0;                // frames that are too narrow
  uint64_t pruned_weight = 0;         // what they weigh, each stack once
  std::vector<std::string> warnings;  // for stderr
};

// A write that failed is reported by out.flush().
FlameSummary write_flame_svg(const Profile& profile, const FlameOptions& options, TextWriter& out);

}  // namespace stackmap
