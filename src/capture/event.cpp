// SPDX-License-Identifier: Apache-2.0
#include "capture/event.h"

namespace stackmap {

namespace {

using enum FieldFormat;

std::vector<FieldType> alloc_fields(bool named) {
  std::vector<FieldType> fields = {{"ptr", kHex}};
  if (named) {
    fields.push_back({"name", kString});
  }
  fields.insert(fields.end(),
                {{"bytes_req", kUnsigned}, {"bytes_alloc", kUnsigned}, {"gfp_flags", kHex}, {"node", kSigned}});
  return fields;
}

std::vector<FieldType> wakeup_fields() {
  return {{"pid", kTid}, {"prio", kSigned}, {"target_cpu", kSigned}};
}

}  // namespace

std::optional<size_t> EventType::field(std::string_view field_name) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == field_name) {
      return i;
    }
  }
  return std::nullopt;
}

const std::vector<EventType>& known_event_types() {
  // In the order in which the tracepoint prints them, which is record/kinds.cpp's too. On disk: append only.
  static const std::vector<EventType> types = {
      {kKmalloc, "kmem", "kmalloc", alloc_fields(false)},
      {kKmemCacheAlloc, "kmem", "kmem_cache_alloc", alloc_fields(true)},
      {kKfree, "kmem", "kfree", {{"ptr", kHex}}},
      {kKmemCacheFree, "kmem", "kmem_cache_free", {{"ptr", kHex}, {"name", kString}}},
      {kMmPageAlloc,
       "kmem",
       "mm_page_alloc",
       {{"pfn", kHex}, {"order", kUnsigned}, {"migratetype", kSigned}, {"gfp_flags", kHex}}},
      {kMmPageFree, "kmem", "mm_page_free", {{"pfn", kHex}, {"order", kUnsigned}}},
      {kSchedSwitch,
       "sched",
       "sched_switch",
       {{"prev_prio", kSigned}, {"prev_state", kTaskState}, {"next_pid", kTid}, {"next_prio", kSigned}}},
      {kSchedWaking, "sched", "sched_waking", wakeup_fields()},
      {kSchedWakeup, "sched", "sched_wakeup", wakeup_fields()},
      {kSchedWakeupNew, "sched", "sched_wakeup_new", wakeup_fields()},
      {kSchedProcessFork, "sched", "sched_process_fork", {{"child_pid", kTid}}},
      {kSchedProcessExec, "sched", "sched_process_exec", {{"filename", kString}, {"pid", kTid}, {"old_pid", kTid}}},
      {kSchedProcessExit, "sched", "sched_process_exit", {{"prio", kSigned}}},
      {kKmallocNode, "kmem", "kmalloc_node", alloc_fields(false)},
      {kKmemCacheAllocNode, "kmem", "kmem_cache_alloc_node", alloc_fields(true)},
  };
  return types;
}

}  // namespace stackmap
