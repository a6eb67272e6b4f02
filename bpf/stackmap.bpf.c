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
const volatile __u32 any_places[STACKMAP_ANY_MAX][STACKMAP_ANY_WORDS] = {};
const volatile bool cached = false;
const volatile __u32 cache_mask = 0;
const volatile __u32 states = STACKMAP_FIRST_ANY;
volatile __u32 phase = STACKMAP_NOTHING;
volatile __u32 cache_generation = 0;

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline void any_plain(void *ctx, __u64 event)
{
	struct stackmap_any_fields *fields;
	struct program_state *state = sample_begin(STACKMAP_ANY, event, 0, sizeof(*fields));

	if (!state)
		return;
	fields = fields_of(state, sizeof(*fields));
	fields->event = event;
	fields->reserved = 0;
	sample_end(ctx, state, sizeof(*fields), STACKMAP_ANY_DYNAMIC);
}

static __always_inline void any_with_fields(void *ctx, __u64 event, const volatile __u32 *places)
{
	struct stackmap_any_words *fields;
	struct program_state *state = sample_begin(STACKMAP_ANY_FIELDS, event, 0, sizeof(*fields));
	__u32 i;

	if (!state)
		return;
	fields = fields_of(state, sizeof(*fields));
	fields->any.event = event;
	fields->any.reserved = 0;
	for (i = 0; i < STACKMAP_ANY_WORDS; i++) {
		__u32 place = places[i];
		__u64 size = place >> STACKMAP_PLACE_SIZE_SHIFT;
		__u32 offset = place & ((1U << STACKMAP_PLACE_SIZE_SHIFT) - 1);

		fields->words[i] = 0;
		if (!size)
			continue;
		/* So that what is checked is what is used. */
		STACKMAP_OPAQUE(size);
		if (size > sizeof(fields->words[i]))
			continue;
		bpf_probe_read_kernel(&fields->words[i], size, ctx + offset);
	}
	sample_end_raw(ctx, state, sizeof(*fields));
}

/* Attached to each such tracepoint with its number as the attach cookie. */
SEC("tracepoint")
int any_event(void *ctx)
{
	__u64 event = bpf_get_attach_cookie(ctx);
	const volatile __u32 *places =
		any_places[(event - STACKMAP_FIRST_ANY) & (STACKMAP_ANY_MAX - 1)];

	if (*places)
		any_with_fields(ctx, event, places);
	else
		any_plain(ctx, event);
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
