/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cookie cache as the programs use it: whether user space knows an event's template, and whose
 * events a batch held that was lost.
 *
 * Functions of their own, so that a program has their loops once. Static: kernels before 5.12 take
 * no pointer in a global one. The verifier follows a static one anew for each state that it can be
 * called in, so callers keep those few.
 */
#ifndef STACKMAP_CACHE_BPF_H
#define STACKMAP_CACHE_BPF_H

#include "state.bpf.h"

/* The id of the template that the state's sample is made from; 0: none is published. */
static __noinline __u32 cache_find(struct program_state *state)
{
	__u32 generation = cache_generation, place, way;
	__u64 hash;

	if (!generation)
		return 0;
	hash = stackmap_cache_hash(&state->key, state->string, state->frames);
	place = hash & cache_mask;
	for (way = 0; way < 2; way++) {
		struct stackmap_cache_entry *entry = bpf_map_lookup_elem(&cache, &place);
		__u32 id = 0;

		if (entry)
			id = stackmap_cache_match(entry, generation, hash, &state->key,
						  state->string, state->frames, &state->fence);
		if (id)
			return id;
		place ^= 1;
	}
	return 0;
}

/*
 * Counts the events of a batch that the ring refused with `error`, by their programs. Without a
 * branch on it: the verifier would follow the loop once for each error that it tells apart.
 */
static __noinline int batch_count_lost(__u64 number, long error)
{
	__u64 other = error + ENOSPC;
	__u64 full = ((other | -other) >> 63) - 1; /* all ones: it was ENOSPC */
	__u32 i, index;

	for (i = 0; i < STATES_MAX && i < states; i++) {
		struct program_state *state;
		__u64 events;

		index = i;
		state = state_of(index);
		if (!state)
			break;
		if (state->batch != number)
			continue;
		events = state->batch_events;
		state->counters.batched -= events;
		state->counters.batch_full += events & full;
		state->counters.batch_error += events & ~full;
	}
	return 0;
}

#endif /* STACKMAP_CACHE_BPF_H */
