// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The maps and settings that the programs share, and the program for any tracepoint that has none
 * of its own.
 */
#include "sample.bpf.h"

struct ring_map ring SEC(".maps");
struct programs_map programs SEC(".maps");
struct targets_map targets SEC(".maps");
struct cache_map cache SEC(".maps");
struct batches_map batches SEC(".maps");

const volatile __u32 profiler_tgid = 0;
const volatile __u32 stack_bytes = FRAMES_DEFAULT * 8;
const volatile bool narrowed = false;
const volatile bool selected[STACKMAP_FIRST_ANY] = {};
const volatile bool cached = false;
const volatile __u32 cache_mask = 0;
const volatile __u32 states = STACKMAP_FIRST_ANY;
volatile __u32 phase = STACKMAP_NOTHING;
volatile __u32 cache_generation = 0;

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Attached to each such tracepoint with its number as the attach cookie. */
SEC("tracepoint")
int any_event(void *ctx)
{
	__u64 event = bpf_get_attach_cookie(ctx);
	struct stackmap_any_fields *fields;
	struct program_state *state = sample_begin(STACKMAP_ANY, event, 0, sizeof(*fields));

	if (!state)
		return PASS_ON;
	fields = fields_of(state, sizeof(*fields));
	fields->event = event;
	fields->reserved = 0;
	sample_end(ctx, state, sizeof(*fields), STACKMAP_ANY_DYNAMIC);
	return PASS_ON;
}

/*
 * Run by user space on each CPU in turn, to send what its batch holds. Returns 1 if a program that
 * it interrupts is using the batch. Otherwise no program of this CPU is between looking up a
 * template and sending its id: what user space withdrew before is not used any more.
 */
SEC("raw_tp")
int flush_batch(void *ctx)
{
	struct stackmap_batch *batch = batch_take();

	if (!batch)
		return 1;
	batch_flush(ctx, batch);
	batch_release(batch);
	return 0;
}
