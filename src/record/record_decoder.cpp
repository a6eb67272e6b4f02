// SPDX-License-Identifier: Apache-2.0
#include "record/record_decoder.h"

#include <cstring>

#include "base/bytes.h"
#include "bpf/stackmap_record.h"

namespace stackmap {

namespace {

uint64_t extend(int32_t value) {
  return static_cast<uint64_t>(int64_t{value});
}

void set_fields(Sample& sample, std::initializer_list<uint64_t> values, int string_field = -1) {
  size_t n = 0;
  for (const uint64_t value : values) {
    sample.fields[n++] = value;
  }
  sample.field_count = static_cast<uint8_t>(n);
  sample.string_field = string_field;
}

std::string_view text_before_nul(const char* text, size_t limit) {
  return {text, strnlen(text, limit)};
}

// Bytes of the fields of a kind; 0 if there is no such kind.
size_t fields_size(uint8_t kind) {
  switch (kind) {
    case STACKMAP_KMALLOC:
    case STACKMAP_KMALLOC_NODE:
    case STACKMAP_KMEM_CACHE_ALLOC:
    case STACKMAP_KMEM_CACHE_ALLOC_NODE:
      return sizeof(stackmap_alloc_fields);
    case STACKMAP_KFREE:
    case STACKMAP_KMEM_CACHE_FREE:
      return sizeof(stackmap_free_fields);
    case STACKMAP_MM_PAGE_ALLOC:
    case STACKMAP_MM_PAGE_FREE:
      return sizeof(stackmap_page_fields);
    case STACKMAP_SCHED_SWITCH:
      return sizeof(stackmap_switch_fields);
    case STACKMAP_SCHED_WAKING:
    case STACKMAP_SCHED_WAKEUP:
    case STACKMAP_SCHED_WAKEUP_NEW:
      return sizeof(stackmap_wakeup_fields);
    case STACKMAP_SCHED_PROCESS_FORK:
    case STACKMAP_SCHED_PROCESS_EXEC:
    case STACKMAP_SCHED_PROCESS_EXIT:
    case STACKMAP_TASK_RENAME:
      return sizeof(stackmap_task_fields);
    case STACKMAP_ANY:
      return sizeof(stackmap_any_fields);
    default:
      return 0;
  }
}

void alloc_fields(std::span<const std::byte> bytes, bool named, Sample& sample) {
  const auto f = load_unaligned<stackmap_alloc_fields>(bytes);
  if (named) {
    set_fields(sample, {f.pointer, 0, f.bytes_requested, f.bytes_allocated, f.gfp_flags, extend(f.node)}, 1);
  } else {
    set_fields(sample, {f.pointer, f.bytes_requested, f.bytes_allocated, f.gfp_flags, extend(f.node)});
  }
}

void task_fields(std::span<const std::byte> bytes, Sample& sample) {
  const auto f = load_unaligned<stackmap_task_fields>(bytes);
  const auto* comm = reinterpret_cast<const char*>(bytes.data()) + offsetof(stackmap_task_fields, comm);
  sample.task = {f.tid, f.tgid, f.old_tid, text_before_nul(comm, STACKMAP_COMM_SIZE)};
  switch (sample.kind) {
    case SampleKind::kSchedProcessFork:
      set_fields(sample, {f.tid});
      break;
    case SampleKind::kSchedProcessExec:
      set_fields(sample, {0, f.tid, f.old_tid}, 0);
      break;
    case SampleKind::kSchedProcessExit:
      set_fields(sample, {extend(f.prio)});
      break;
    default:
      set_fields(sample, {});
      break;
  }
}

}  // namespace

std::string_view reject_name(Reject reason) {
  switch (reason) {
    case Reject::kTooShort:
      return "too_short";
    case Reject::kUnknownKind:
      return "unknown_kind";
    case Reject::kBadSize:
      return "bad_size";
    case Reject::kBadString:
      return "bad_string";
    case Reject::kUnknownTemplate:
      return "unknown_template";
  }
  return "?";
}

std::optional<Reject> RecordDecoder::decode_fields(std::span<const std::byte> fields, Sample& sample) {
  sample.any_event = 0;
  sample.subject_tid = 0;
  switch (sample.kind) {
    case SampleKind::kKmalloc:
    case SampleKind::kKmallocNode:
      alloc_fields(fields, false, sample);
      break;
    case SampleKind::kKmemCacheAlloc:
    case SampleKind::kKmemCacheAllocNode:
      alloc_fields(fields, true, sample);
      break;
    case SampleKind::kKfree:
      set_fields(sample, {load_unaligned<stackmap_free_fields>(fields).pointer});
      break;
    case SampleKind::kKmemCacheFree:
      set_fields(sample, {load_unaligned<stackmap_free_fields>(fields).pointer, 0}, 1);
      break;
    case SampleKind::kMmPageAlloc: {
      const auto f = load_unaligned<stackmap_page_fields>(fields);
      set_fields(sample, {f.pfn, f.order, extend(f.migratetype), f.gfp_flags});
      break;
    }
    case SampleKind::kMmPageFree: {
      const auto f = load_unaligned<stackmap_page_fields>(fields);
      set_fields(sample, {f.pfn, f.order});
      break;
    }
    case SampleKind::kSchedSwitch: {
      const auto f = load_unaligned<stackmap_switch_fields>(fields);
      sample.subject_tid = f.next_tid;
      set_fields(sample, {extend(f.prev_prio), f.prev_state, f.next_tid, extend(f.next_prio)});
      break;
    }
    case SampleKind::kSchedWaking:
    case SampleKind::kSchedWakeup:
    case SampleKind::kSchedWakeupNew: {
      const auto f = load_unaligned<stackmap_wakeup_fields>(fields);
      sample.subject_tid = f.tid;
      set_fields(sample, {f.tid, extend(f.prio), extend(f.target_cpu)});
      break;
    }
    case SampleKind::kSchedProcessFork:
    case SampleKind::kSchedProcessExec:
    case SampleKind::kSchedProcessExit:
    case SampleKind::kTaskRename:
      task_fields(fields, sample);
      break;
    case SampleKind::kAny:
      sample.any_event = load_unaligned<stackmap_any_fields>(fields).event;
      if (sample.any_event < kFirstAnyEvent) {
        return Reject::kUnknownKind;
      }
      set_fields(sample, {});
      break;
  }
  return std::nullopt;
}

RawStack RecordDecoder::take_stack(std::span<const std::byte>& rest, int16_t size, std::vector<uint64_t>& frames) {
  if (size < 0) {
    return {{}, -int{size}};
  }
  const auto bytes = static_cast<size_t>(size);
  frames.resize(bytes / 8);
  if (bytes != 0) {
    std::memcpy(frames.data(), rest.data(), bytes);
  }
  rest = rest.subspan(bytes);
  return {frames, 0};
}

std::optional<Reject> RecordDecoder::decode(std::span<const std::byte> bytes, uint32_t cpu, Sample& sample) {
  if (bytes.size() < sizeof(stackmap_record_header)) {
    return Reject::kTooShort;
  }
  const auto header = load_unaligned<stackmap_record_header>(bytes);
  if (header.size > bytes.size()) {
    return Reject::kTooShort;
  }
  const size_t field_bytes = fields_size(header.kind);
  if (field_bytes == 0) {
    return Reject::kUnknownKind;
  }
  const bool task_only = header.kernel_stack == STACKMAP_TASK_ONLY;
  const int16_t kernel_size = task_only ? int16_t{0} : header.kernel_stack;
  const auto stack_bytes = [](int16_t size) { return size > 0 ? static_cast<size_t>(size) : 0; };
  const size_t parts =
      sizeof(header) + field_bytes + header.string_size + stack_bytes(kernel_size) + stack_bytes(header.user_stack);
  if (parts != header.size || stack_bytes(kernel_size) % 8 != 0 || stack_bytes(header.user_stack) % 8 != 0) {
    return Reject::kBadSize;
  }
  sample.kind = static_cast<SampleKind>(header.kind);
  sample.task_only = task_only;
  sample.cpu = cpu;
  sample.time_ns = header.time_ns;
  sample.tid = header.tid;
  sample.tgid = header.tgid;

  auto rest = bytes.subspan(sizeof(header), header.size - sizeof(header));
  if (const auto reject = decode_fields(rest.first(field_bytes), sample)) {
    return reject;
  }
  rest = rest.subspan(field_bytes);
  sample.kernel_stack = take_stack(rest, kernel_size, kernel_frames_);
  sample.user_stack = take_stack(rest, header.user_stack, user_frames_);
  sample.string = text_before_nul(reinterpret_cast<const char*>(rest.data()), header.string_size);
  if (header.string_size != 0 && sample.string.size() == header.string_size) {
    return Reject::kBadString;
  }
  return std::nullopt;
}

}  // namespace stackmap
