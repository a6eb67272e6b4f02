// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The maps and settings that the programs share, and the program for any tracepoint that has none
 * of its own.
 */
#include "sample.bpf.h"

struct ring_map ring SEC(".maps");
struct programs_map programs SEC(".maps");
struct targets_map targets SEC(".maps");

const volatile __u32 profiler_tgid = 0;
const volatile __u32 stack_bytes = FRAMES_DEFAULT * 8;
const volatile bool narrowed = false;
const volatile bool selected[STACKMAP_FIRST_ANY] = {};
volatile __u32 phase = STACKMAP_NOTHING;

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Attached to each such tracepoint with its number as the attach cookie. */
SEC("tracepoint")
int any_event(void *ctx)
{
	__u64 event = bpf_get_attach_cookie(ctx);
	struct program_state *state = sample_begin(STACKMAP_ANY, event, 0);
	struct stackmap_any_fields *fields;

	if (!state)
		return PASS_ON;
	fields = (void *)state->body;
	fields->event = event;
	fields->reserved = 0;
	sample_end(ctx, state, sizeof(*fields));
	return PASS_ON;
}
