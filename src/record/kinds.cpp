// SPDX-License-Identifier: Apache-2.0
#include "record/kinds.h"

#include <algorithm>

#include "bpf/stackmap_record.h"
#include "record/tracepoint.h"

namespace stackmap {

namespace {

// Offset, size and sign are the struct's own.
#define PLACE(fields, member) field_place<decltype(fields::member)>(offsetof(fields, member))

constexpr FieldPlace kStringPlace = {0, 0, FieldRole::kString};

constexpr FieldPlace subject(FieldPlace place) {
  place.role = FieldRole::kSubject;
  return place;
}

// kmem_cache_alloc's and kmem_cache_free's are named, by their cache.
constexpr RecordLayout kAlloc = {sizeof(stackmap_alloc_fields),
                                 STACKMAP_ALLOC_DYNAMIC,
                                 {PLACE(stackmap_alloc_fields, pointer), PLACE(stackmap_alloc_fields, bytes_requested),
                                  PLACE(stackmap_alloc_fields, bytes_allocated),
                                  PLACE(stackmap_alloc_fields, gfp_flags), PLACE(stackmap_alloc_fields, node)}};
constexpr RecordLayout kNamedAlloc = {
    sizeof(stackmap_alloc_fields),
    STACKMAP_ALLOC_DYNAMIC,
    {PLACE(stackmap_alloc_fields, pointer), kStringPlace, PLACE(stackmap_alloc_fields, bytes_requested),
     PLACE(stackmap_alloc_fields, bytes_allocated), PLACE(stackmap_alloc_fields, gfp_flags),
     PLACE(stackmap_alloc_fields, node)}};
constexpr RecordLayout kFree = {
    sizeof(stackmap_free_fields), STACKMAP_FREE_DYNAMIC, {PLACE(stackmap_free_fields, pointer)}};
constexpr RecordLayout kNamedFree = {
    sizeof(stackmap_free_fields), STACKMAP_FREE_DYNAMIC, {PLACE(stackmap_free_fields, pointer), kStringPlace}};
constexpr RecordLayout kPageAlloc = {
    sizeof(stackmap_page_fields),
    STACKMAP_PAGE_DYNAMIC,
    {PLACE(stackmap_page_fields, pfn), PLACE(stackmap_page_fields, order), PLACE(stackmap_page_fields, migratetype),
     PLACE(stackmap_page_fields, gfp_flags)}};
constexpr RecordLayout kPageFree = {sizeof(stackmap_page_fields),
                                    STACKMAP_PAGE_DYNAMIC,
                                    {PLACE(stackmap_page_fields, pfn), PLACE(stackmap_page_fields, order)}};
constexpr RecordLayout kSwitch = {
    sizeof(stackmap_switch_fields),
    STACKMAP_SWITCH_DYNAMIC,
    {PLACE(stackmap_switch_fields, prev_prio), PLACE(stackmap_switch_fields, prev_state),
     subject(PLACE(stackmap_switch_fields, next_tid)), PLACE(stackmap_switch_fields, next_prio)}};
constexpr RecordLayout kWakeup = {sizeof(stackmap_wakeup_fields),
                                  STACKMAP_WAKEUP_DYNAMIC,
                                  {subject(PLACE(stackmap_wakeup_fields, tid)), PLACE(stackmap_wakeup_fields, prio),
                                   PLACE(stackmap_wakeup_fields, target_cpu)}};

constexpr RecordLayout task(std::initializer_list<FieldPlace> fields) {
  return {sizeof(stackmap_task_fields), RecordLayout::kNotCached, fields};
}

// The number is the same in a record and in a capture.
consteval KindInfo row(KnownEvent kind, stackmap_kind sent, std::string_view category, std::string_view name,
                       KindUse use, const RecordLayout& layout) {
  if (static_cast<int>(kind) != static_cast<int>(sent)) {
    throw "the numbers differ";
  }
  return {kind, category, name, use, layout};
}

constexpr KindInfo kKinds[] = {
    row(kKmalloc, STACKMAP_KMALLOC, "kmem", "kmalloc", KindUse::kEvent, kAlloc),
    row(kKmemCacheAlloc, STACKMAP_KMEM_CACHE_ALLOC, "kmem", "kmem_cache_alloc", KindUse::kEvent, kNamedAlloc),
    row(kKfree, STACKMAP_KFREE, "kmem", "kfree", KindUse::kEvent, kFree),
    row(kKmemCacheFree, STACKMAP_KMEM_CACHE_FREE, "kmem", "kmem_cache_free", KindUse::kEvent, kNamedFree),
    row(kMmPageAlloc, STACKMAP_MM_PAGE_ALLOC, "kmem", "mm_page_alloc", KindUse::kEvent, kPageAlloc),
    row(kMmPageFree, STACKMAP_MM_PAGE_FREE, "kmem", "mm_page_free", KindUse::kEvent, kPageFree),
    row(kSchedSwitch, STACKMAP_SCHED_SWITCH, "sched", "sched_switch", KindUse::kEvent, kSwitch),
    row(kSchedWaking, STACKMAP_SCHED_WAKING, "sched", "sched_waking", KindUse::kEvent, kWakeup),
    row(kSchedWakeup, STACKMAP_SCHED_WAKEUP, "sched", "sched_wakeup", KindUse::kEvent, kWakeup),
    row(kSchedWakeupNew, STACKMAP_SCHED_WAKEUP_NEW, "sched", "sched_wakeup_new", KindUse::kEvent, kWakeup),
    row(kSchedProcessFork, STACKMAP_SCHED_PROCESS_FORK, "sched", "sched_process_fork", KindUse::kEventAndTask,
        task({PLACE(stackmap_task_fields, tid)})),
    row(kSchedProcessExec, STACKMAP_SCHED_PROCESS_EXEC, "sched", "sched_process_exec", KindUse::kEventAndTask,
        task({kStringPlace, PLACE(stackmap_task_fields, tid), PLACE(stackmap_task_fields, old_tid)})),
    row(kSchedProcessExit, STACKMAP_SCHED_PROCESS_EXIT, "sched", "sched_process_exit", KindUse::kEventAndTask,
        task({PLACE(stackmap_task_fields, prio)})),
    row(kKmallocNode, STACKMAP_KMALLOC_NODE, "kmem", "kmalloc_node", KindUse::kOlderEvent, kAlloc),
    row(kKmemCacheAllocNode, STACKMAP_KMEM_CACHE_ALLOC_NODE, "kmem", "kmem_cache_alloc_node", KindUse::kOlderEvent,
        kNamedAlloc),
    row(kTaskRename, STACKMAP_TASK_RENAME, "task", "task_rename", KindUse::kTask, task({})),
};

static_assert(static_cast<int>(kBatch) == STACKMAP_BATCH);
static_assert(static_cast<int>(kAnyEvent) == STACKMAP_ANY);
static_assert(static_cast<int>(kAnyEventFields) == STACKMAP_ANY_FIELDS);
static_assert(kMaxAnyFields == STACKMAP_ANY_WORDS && kAnyFieldsOffset == offsetof(stackmap_any_words, words));
static_assert(kMaxAnyEvents == STACKMAP_ANY_MAX);
static_assert(static_cast<int>(RecordPhase::kNothing) == STACKMAP_NOTHING);
static_assert(static_cast<int>(RecordPhase::kTasks) == STACKMAP_TASKS);
static_assert(static_cast<int>(RecordPhase::kEvents) == STACKMAP_EVENTS);
static_assert(static_cast<int>(RecordPhase::kCount) == STACKMAP_COUNT);
static_assert(kFirstAnyEvent == STACKMAP_FIRST_ANY);
static_assert(kMaxSampleString == STACKMAP_STRING_SIZE - 1);
static_assert(kMaxSampleFrames == STACKMAP_MAX_FRAMES);

constexpr std::array<RecordLayout, kFirstAnyEvent> make_layouts() {
  std::array<RecordLayout, kFirstAnyEvent> all{};
  for (const KindInfo& kind : kKinds) {
    all[kind.kind] = kind.layout;
  }
  all[kAnyEvent] = {sizeof(stackmap_any_fields), STACKMAP_ANY_DYNAMIC, {}};
  all[kAnyEventFields] = {sizeof(stackmap_any_words), RecordLayout::kNotCached, {}};  // which ones, the event says
  return all;
}

}  // namespace

constexpr std::array<RecordLayout, kFirstAnyEvent> kRecordLayouts = make_layouts();
static_assert(std::ranges::all_of(kRecordLayouts, &RecordLayout::is_sound));

std::span<const KindInfo> kinds() {
  return kKinds;
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
