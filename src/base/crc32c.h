// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli, reflected 0x82f63b78, as in RFC 3720 appendix B.4). With the SSE4.2 instruction where the
// processor has it. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stackmap {

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t seed = 0);
// Without the instruction: for tests, and for processors that lack it.
uint32_t crc32c_portable(std::span<const std::byte> bytes, uint32_t seed = 0);

}  // namespace stackmap
