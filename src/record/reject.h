// SPDX-License-Identifier: Apache-2.0
// Why a record, or an event of a batch, is not taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stackmap {

enum class Reject : uint8_t {
  kTooShort,         // shorter than a header, or than its header says
  kUnknownKind,      // of a kind that this version does not know
  kBadSize,          // its parts do not add up to its length
  kBadString,        // a string without an end
  kUnknownTemplate,  // an event of a batch whose template is not known
};
inline constexpr size_t kRejectReasons = 5;
std::string_view reject_name(Reject reason);

}  // namespace stackmap
