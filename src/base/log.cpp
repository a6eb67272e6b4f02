// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <unistd.h>

#include <atomic>

#include "base/bytes.h"
#include "base/fd.h"

namespace stackmap {

namespace {

std::atomic<bool> quiet_flag{false};

void put(const std::string& line) {
  (void)write_all(STDERR_FILENO, bytes_of(line), "stderr");  // nowhere left to report it
}

}  // namespace

void log_error(const std::string& text) {
  put("stackmap: " + text + "\n");
}
void log_warning(const std::string& text) {
  put("stackmap: warning: " + text + "\n");
}
void log_note(const std::string& text) {
  if (!quiet_flag.load(std::memory_order_relaxed)) {
    put("stackmap: " + text + "\n");
  }
}
void set_quiet(bool quiet) {
  quiet_flag.store(quiet, std::memory_order_relaxed);
}

}  // namespace stackmap
