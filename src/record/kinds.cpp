// SPDX-License-Identifier: Apache-2.0
#include "record/kinds.h"

#include "bpf/stackmap_record.h"

namespace stackmap {

namespace {

constexpr KindInfo kKinds[] = {
    {SampleKind::kKmalloc, "kmem", "kmalloc", false, true, false},
    {SampleKind::kKmemCacheAlloc, "kmem", "kmem_cache_alloc", false, true, false},
    {SampleKind::kKfree, "kmem", "kfree", false, true, false},
    {SampleKind::kKmemCacheFree, "kmem", "kmem_cache_free", false, true, false},
    {SampleKind::kMmPageAlloc, "kmem", "mm_page_alloc", false, true, false},
    {SampleKind::kMmPageFree, "kmem", "mm_page_free", false, true, false},
    {SampleKind::kSchedSwitch, "sched", "sched_switch", false, true, false},
    {SampleKind::kSchedWaking, "sched", "sched_waking", false, true, false},
    {SampleKind::kSchedWakeup, "sched", "sched_wakeup", false, true, false},
    {SampleKind::kSchedWakeupNew, "sched", "sched_wakeup_new", false, true, false},
    {SampleKind::kSchedProcessFork, "sched", "sched_process_fork", true, true, false},
    {SampleKind::kSchedProcessExec, "sched", "sched_process_exec", true, true, false},
    {SampleKind::kSchedProcessExit, "sched", "sched_process_exit", true, true, false},
    {SampleKind::kKmallocNode, "kmem", "kmalloc_node", false, true, true},
    {SampleKind::kKmemCacheAllocNode, "kmem", "kmem_cache_alloc_node", false, true, true},
    {SampleKind::kTaskRename, "task", "task_rename", true, false, false},
};

static_assert(static_cast<int>(SampleKind::kKmalloc) == STACKMAP_KMALLOC);
static_assert(static_cast<int>(SampleKind::kKmemCacheAlloc) == STACKMAP_KMEM_CACHE_ALLOC);
static_assert(static_cast<int>(SampleKind::kKfree) == STACKMAP_KFREE);
static_assert(static_cast<int>(SampleKind::kKmemCacheFree) == STACKMAP_KMEM_CACHE_FREE);
static_assert(static_cast<int>(SampleKind::kMmPageAlloc) == STACKMAP_MM_PAGE_ALLOC);
static_assert(static_cast<int>(SampleKind::kMmPageFree) == STACKMAP_MM_PAGE_FREE);
static_assert(static_cast<int>(SampleKind::kSchedSwitch) == STACKMAP_SCHED_SWITCH);
static_assert(static_cast<int>(SampleKind::kSchedWaking) == STACKMAP_SCHED_WAKING);
static_assert(static_cast<int>(SampleKind::kSchedWakeup) == STACKMAP_SCHED_WAKEUP);
static_assert(static_cast<int>(SampleKind::kSchedWakeupNew) == STACKMAP_SCHED_WAKEUP_NEW);
static_assert(static_cast<int>(SampleKind::kSchedProcessFork) == STACKMAP_SCHED_PROCESS_FORK);
static_assert(static_cast<int>(SampleKind::kSchedProcessExec) == STACKMAP_SCHED_PROCESS_EXEC);
static_assert(static_cast<int>(SampleKind::kSchedProcessExit) == STACKMAP_SCHED_PROCESS_EXIT);
static_assert(static_cast<int>(SampleKind::kKmallocNode) == STACKMAP_KMALLOC_NODE);
static_assert(static_cast<int>(SampleKind::kKmemCacheAllocNode) == STACKMAP_KMEM_CACHE_ALLOC_NODE);
static_assert(static_cast<int>(SampleKind::kTaskRename) == STACKMAP_TASK_RENAME);
static_assert(static_cast<int>(SampleKind::kAny) == STACKMAP_ANY);
static_assert(static_cast<int>(RecordPhase::kNothing) == STACKMAP_NOTHING);
static_assert(static_cast<int>(RecordPhase::kTasks) == STACKMAP_TASKS);
static_assert(static_cast<int>(RecordPhase::kEvents) == STACKMAP_EVENTS);
static_assert(static_cast<int>(RecordPhase::kCount) == STACKMAP_COUNT);
static_assert(kFirstAnyEvent == STACKMAP_FIRST_ANY);
static_assert(kMaxSampleString == STACKMAP_STRING_SIZE - 1);
static_assert(kMaxSampleFrames == STACKMAP_MAX_FRAMES);

}  // namespace

std::span<const KindInfo> kinds() {
  return kKinds;
}

const KindInfo* find_kind(SampleKind kind) {
  for (const KindInfo& info : kKinds) {
    if (info.kind == kind) {
      return &info;
    }
  }
  return nullptr;
}

const KindInfo* find_kind(std::string_view category, std::string_view name) {
  for (const KindInfo& info : kKinds) {
    if (info.category == category && info.name == name) {
      return &info;
    }
  }
  return nullptr;
}

}  // namespace stackmap
