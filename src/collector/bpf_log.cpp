// SPDX-License-Identifier: Apache-2.0
#include "collector/bpf_log.h"

#include <bpf/libbpf.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "base/log.h"

namespace stackmap {

namespace {

constexpr size_t kKeep = 1024;
std::mutex mutex;
std::string kept;
bool show = false;

int take_line(libbpf_print_level level, const char* format, va_list arguments) {
  char line[2048];
  const int n = std::vsnprintf(line, sizeof(line), format, arguments);
  const std::lock_guard lock(mutex);
  if (show) {
    std::string text(line);
    while (!text.empty() && text.back() == '\n') {
      text.pop_back();
    }
    log_note(text);
  } else if (level == LIBBPF_WARN) {
    kept += line;
    if (kept.size() > kKeep) {
      kept.erase(0, kept.size() - kKeep);
    }
  }
  return n;
}

}  // namespace

void capture_bpf_log(LibbpfLog log) {
  {
    const std::lock_guard lock(mutex);
    show = log == LibbpfLog::kShown;
  }
  (void)libbpf_set_print(take_line);
}

std::string take_bpf_log() {
  const std::lock_guard lock(mutex);
  std::string text = std::move(kept);
  kept.clear();
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  std::replace(text.begin(), text.end(), '\n', ';');
  return text;
}

}  // namespace stackmap
