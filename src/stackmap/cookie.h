// SPDX-License-Identifier: Apache-2.0
// The name of one stack of one generation: `generation << 32 | slot`, the cookie of the kernel's ftrace stack map
// series.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace stackmap {

class Cookie {
 public:
  constexpr Cookie() = default;
  constexpr Cookie(uint32_t generation, uint32_t slot) : value_(uint64_t{generation} << 32 | slot) {}
  static constexpr Cookie from_value(uint64_t value) {
    return {static_cast<uint32_t>(value >> 32), static_cast<uint32_t>(value)};
  }

  constexpr uint64_t value() const { return value_; }
  constexpr uint32_t generation() const { return static_cast<uint32_t>(value_ >> 32); }
  constexpr uint32_t slot() const { return static_cast<uint32_t>(value_); }
  constexpr auto operator<=>(const Cookie&) const = default;

 private:
  // Generations start at 1, so no stack has the cookie 0; slot 0 is a slot like any other.
  uint64_t value_ = 0;
};

}  // namespace stackmap

template <>
struct std::hash<stackmap::Cookie> {
  size_t operator()(stackmap::Cookie cookie) const noexcept { return std::hash<uint64_t>()(cookie.value()); }
};
