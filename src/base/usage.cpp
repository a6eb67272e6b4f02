// SPDX-License-Identifier: Apache-2.0
#include "base/usage.h"

#include <unistd.h>

#include <ctime>

#include "base/fd.h"
#include "base/text.h"

namespace stackmap {

uint64_t process_cpu_ns() {
  timespec time{};
  (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);  // every Linux has it
  return static_cast<uint64_t>(time.tv_sec) * 1000000000U + static_cast<uint64_t>(time.tv_nsec);
}

Result<uint64_t> resident_memory() {
  STACKMAP_TRY_VALUE(text, read_text_file("/proc/self/statm", 256));
  const size_t first = text.find(' ');
  const size_t second = text.find(' ', first + 1);
  STACKMAP_TRY_VALUE(pages, parse_uint(text.substr(first + 1, second - first - 1)));
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace stackmap
