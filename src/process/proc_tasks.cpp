// SPDX-License-Identifier: Apache-2.0
// Threads as /proc shows them (proc(5)).
#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "process/task_table.h"

namespace stackmap {

namespace {

constexpr size_t kCommBytes = 15;                   // TASK_COMM_LEN - 1
constexpr uint64_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD

std::optional<uint32_t> parse_id(std::string_view text) {
  const auto id = parse_uint(text);
  return id && *id <= UINT32_MAX ? std::optional(static_cast<uint32_t>(*id)) : std::nullopt;
}

// The entries of a directory that are numbers, in order.
Result<std::vector<uint32_t>> numbered_entries(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  if (!directory) {
    return errno_error("cannot open " + path);
  }
  std::vector<uint32_t> numbers;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) {
      break;
    }
    const std::string_view name(entry->d_name);
    if (name.front() < '0' || name.front() > '9') {
      continue;
    }
    if (const auto number = parse_id(name)) {
      numbers.push_back(*number);
    }
  }
  if (errno != 0) {
    return errno_error("cannot read " + path);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

struct ProcessFacts {
  uint32_t parent = 0;  // tgid of the parent; 0 if not known
  bool kernel_thread = false;
};

// From a stat file: "pid (comm) state ppid pgrp session tty tpgid flags ...". The comm may hold anything, a ')' too, so
// the fields are counted from the last one.
ProcessFacts parse_stat(std::string_view stat) {
  const size_t end = stat.rfind(')');
  if (end == std::string_view::npos) {
    return {};
  }
  const auto fields = split(stat.substr(end + 1), ' ');  // [0] is empty, [1] the state
  ProcessFacts facts;
  if (fields.size() > 2) {
    facts.parent = parse_id(fields[2]).value_or(0);
  }
  if (fields.size() > 7) {
    const auto flags = parse_uint(fields[7]);
    facts.kernel_thread = flags && (*flags & kKernelThreadFlag) != 0;
  }
  return facts;
}

// What task->comm holds, from what a comm file of a thread of `process` shows. For kernel threads the file shows more:
// a name longer than comm, and behind that of a workqueue's worker, after '-' or '+', what it works on. "kworker/R-..."
// is a rescuer's own name.
std::string task_comm(std::string text, const ProcessFacts& process) {
  if (text.ends_with('\n')) {
    text.pop_back();
  }
  static constexpr std::string_view kWorker = "kworker/";
  if (process.kernel_thread && text.starts_with(kWorker) && !text.starts_with("kworker/R-")) {
    text.resize(std::min(text.size(), text.find_first_of("-+", kWorker.size())));
  }
  text.resize(std::min(text.size(), kCommBytes));
  return text;
}

// Gone while it was looked at, or hidden from this user (hidepid): either way there is nothing to record.
bool is_absent(const Error& error) {
  return error.kind == ErrorKind::kNotFound || error.kind == ErrorKind::kPrivilege;
}

Result<void> read_process(uint32_t tgid, uint64_t time_ns, const std::string& proc, std::vector<TaskRecord>& records) {
  STACKMAP_TRY_VALUE(threads, read_proc_threads(tgid, proc));
  STACKMAP_TRY_VALUE(stat, read_text_file(fmt::format("{}/{}/stat", proc, tgid)));
  const ProcessFacts facts = parse_stat(stat);
  for (const uint32_t tid : threads) {
    auto comm = read_text_file(fmt::format("{}/{}/task/{}/comm", proc, tgid, tid));
    if (comm) {
      records.push_back({time_ns, TaskChange::kSeen, tid, tgid, facts.parent, task_comm(std::move(*comm), facts)});
    } else if (!is_absent(comm.error())) {
      return std::move(comm).error();
    }
  }
  return {};
}

}  // namespace

Result<std::vector<uint32_t>> read_proc_threads(uint32_t tgid, const std::string& proc) {
  return numbered_entries(fmt::format("{}/{}/task", proc, tgid));
}

Result<TaskRecord> read_proc_task(uint32_t tid, uint64_t time_ns, const std::string& proc) {
  // /proc/TID is there for every thread, though only processes are listed.
  const std::string base = fmt::format("{}/{}", proc, tid);
  STACKMAP_TRY_VALUE(stat, read_text_file(base + "/stat"));
  STACKMAP_TRY_VALUE(status, read_text_file(base + "/status"));
  STACKMAP_TRY_VALUE(comm, read_text_file(base + "/comm"));
  const ProcessFacts facts = parse_stat(stat);
  TaskRecord record{time_ns, TaskChange::kSeen, tid, 0, facts.parent, task_comm(std::move(comm), facts)};
  // The name in this file is escaped, so a line of it begins nowhere but where it should.
  static constexpr std::string_view kTgid = "\nTgid:\t";
  if (const size_t at = status.find(kTgid); at != std::string::npos) {
    const std::string_view rest = std::string_view(status).substr(at + kTgid.size());
    record.tgid = parse_id(rest.substr(0, rest.find('\n'))).value_or(0);
  }
  return record;
}

Result<std::vector<TaskRecord>> read_proc_tasks(uint64_t time_ns, const std::string& proc) {
  STACKMAP_TRY_VALUE(processes, numbered_entries(proc));
  std::vector<TaskRecord> records;
  for (const uint32_t tgid : processes) {
    if (auto read = read_process(tgid, time_ns, proc, records); !read && !is_absent(read.error())) {
      return std::move(read).error();
    }
  }
  return records;
}

}  // namespace stackmap
