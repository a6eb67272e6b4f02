/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The least that a profiler with stacks can cost: a tracepoint program that walks the stack into a
 * buffer of its own and forgets it; one that reads the clock too, as whoever keeps an event must;
 * and one that does not even walk.
 */
#include "../../bpf/vmlinux.h"

#include <bpf/bpf_helpers.h>

#define FRAMES_DEFAULT 127

/* Set before loading: the kernel's limit on a stack's depth, in bytes. */
const volatile __u32 stack_bytes = FRAMES_DEFAULT * 8;

/* Per CPU: the hits, then the stack. The value grows with stack_bytes, so it has no type. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, 8 + FRAMES_DEFAULT * 8);
} state SEC(".maps");

/* What a classic tracepoint program returns so that perf's users of the event get it too. */
#define PASS_ON 1

static __always_inline __u64* count_hit(void) {
  __u32 zero = 0;
  __u64* hits = bpf_map_lookup_elem(&state, &zero);

  if (hits) ++*hits;
  return hits;
}

SEC("tracepoint")
int walk(void* ctx) {
  __u64* hits = count_hit();

  if (hits) bpf_get_stack(ctx, hits + 1, stack_bytes, 0);
  return PASS_ON;
}

/* Kept, so that reading the clock is not left out. */
__u64 last_time;

SEC("tracepoint")
int walk_and_time(void* ctx) {
  __u64* hits = count_hit();

  if (hits) {
    bpf_get_stack(ctx, hits + 1, stack_bytes, 0);
    /* One for all CPUs; the workload has one. */
    *(volatile __u64*)&last_time = bpf_ktime_get_ns();
  }
  return PASS_ON;
}

SEC("tracepoint")
int count(void* ctx) {
  count_hit();
  return PASS_ON;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
