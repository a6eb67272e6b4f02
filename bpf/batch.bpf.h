/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The batch of this CPU: events whose templates user space knows. Classic tracepoint programs do
 * not interrupt each other, but the flusher may interrupt one of them, and they the flusher; who
 * finds the batch in use does without it.
 */
#ifndef STACKMAP_BATCH_BPF_H
#define STACKMAP_BATCH_BPF_H

#include "cache.bpf.h"

/* NULL if it is in use, or there is none. The caller gives it back with batch_release(). */
static __always_inline struct stackmap_batch *batch_take(void)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct stackmap_batch *batch = bpf_map_lookup_elem(&batches, &cpu);

	if (!batch || STACKMAP_READ(batch->busy) || STACKMAP_READ(batch->claimed))
		return NULL;
	*(volatile __u32 *)&batch->busy = 1;
	barrier();
	return batch;
}

static __always_inline void batch_release(struct stackmap_batch *batch)
{
	barrier();
	*(volatile __u32 *)&batch->busy = 0;
}

/* Sends the batch and empties it; does nothing if it is empty. */
static __always_inline void batch_flush(void *ctx, struct stackmap_batch *batch)
{
	__u64 used = batch->used;
	long error;

	if (!used || used > STACKMAP_BATCH_BYTES)
		return;
	batch->header.size = sizeof(batch->header) + used;
	batch->header.kind = STACKMAP_BATCH;
	error = bpf_perf_event_output(ctx, &ring, BPF_F_CURRENT_CPU, &batch->header,
				      sizeof(batch->header) + used);
	if (error)
		batch_count_lost(batch->number, error);
	batch->number++;
	batch->used = 0;
}

/* Sends what is in the batch, so that the record that follows is in order. */
static __always_inline void batch_send(void *ctx)
{
	struct stackmap_batch *batch = batch_take();

	if (!batch)
		return;
	batch_flush(ctx, batch);
	batch_release(batch);
}

/*
 * Whether the batch is to be sent before an event of now, of the template `id`, or of none: also if
 * it is full, or old. One sum without branches: the verifier would follow what sends it once for
 * each way to get there.
 */
static __always_inline bool batch_is_over(const struct stackmap_batch *batch, __u64 now, __u32 id)
{
	__u64 known = (__u64)id - 1;
	__u64 room = STACKMAP_BATCH_BYTES - STACKMAP_BATCH_ENTRY_MAX - (__u64)batch->used;
	__u64 age = now - batch->header.time_ns;
	__u64 young = STACKMAP_BATCH_AGE_NS - age;

	return (known | room | age | young) >> 63;
}

/* Puts an event in, with the first `dynamic_size` bytes of its fields: a word or none. */
static __always_inline void batch_put(struct stackmap_batch *batch, struct program_state *state,
				      __u32 id, const struct stackmap_record_header *header,
				      const __u64 *fields, __u32 dynamic_size)
{
	__u64 thread = (__u64)header->tgid << 32 | header->tid;
	__u64 age = header->time_ns - batch->header.time_ns;
	__u64 used = batch->used;
	__u32 *entry;

	if (used > STACKMAP_BATCH_BYTES - STACKMAP_BATCH_ENTRY_MAX)
		used = 0; /* does not happen: for the verifier */
	if (!used) {
		batch->header.kernel_stack = 0;
		batch->header.time_ns = header->time_ns;
		batch->header.tid = header->tid;
		batch->header.tgid = header->tgid;
		batch->thread = thread;
		age = 0;
	}
	entry = (void *)batch->entries + used;
	if (batch->thread != thread) {
		entry[0] = header->tid;
		entry[1] = STACKMAP_BATCH_THREAD + header->tgid;
		batch->thread = thread;
		entry += 2;
		used += 8;
	}
	entry[0] = (__u32)age | dynamic_size / 8 << STACKMAP_BATCH_TIME_BITS;
	entry[1] = id;
	if (dynamic_size)
		*(__u64 *)(entry + 2) = fields[0];
	batch->used = used + 8 + dynamic_size;
	batch->header.kernel_stack++;
	if (state->batch != batch->number) {
		state->batch = batch->number;
		state->batch_events = 0;
	}
	state->batch_events++;
	state->counters.batched++;
}

/*
 * Tries to put a sample with `stack` bytes of stack into the batch. If that is not possible sends
 * what is in the batch: the sample follows by itself, and a CPU's events keep their order.
 */
static __always_inline bool sample_batch(void *ctx, struct program_state *state, __u32 fields_size,
					 __u32 dynamic_size, long stack)
{
	struct stackmap_record_header *header = header_of(state, fields_size);
	__u64 *fields = fields_of(state, fields_size);
	struct stackmap_batch *batch = batch_take();
	__u32 dynamic_words = dynamic_size / 8, id;

	if (!batch)
		return false;
	state->found = 0;
	if (stack > 0 && stack <= STACKMAP_CACHE_FRAMES * 8 &&
	    !((header->tid | header->tgid) >> STACKMAP_BATCH_TID_BITS)) {
		state->key.shape = stackmap_cache_shape(header->kind, state->string_size, stack);
		state->key.fields[0] = fields_size >= dynamic_size + 8 ? fields[dynamic_words] : 0;
		state->key.fields[1] =
			fields_size >= dynamic_size + 16 ? fields[dynamic_words + 1] : 0;
		state->found = cache_find(state);
	}
	/* By way of memory: the verifier forgets which way it came. */
	id = STACKMAP_READ(state->found);
	if (batch_is_over(batch, header->time_ns, id))
		batch_flush(ctx, batch);
	if (id)
		batch_put(batch, state, id, header, fields, dynamic_size);
	batch_release(batch);
	return id != 0;
}

#endif /* STACKMAP_BATCH_BPF_H */
