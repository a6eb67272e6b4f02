/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What every program does, once each: begin a sample (filter, buffer), take the stack, send, count.
 * The programs differ in their fields alone.
 */
#ifndef STACKMAP_SAMPLE_BPF_H
#define STACKMAP_SAMPLE_BPF_H

#include "filter.bpf.h"
#include "stack.bpf.h"

/*
 * A classic tracepoint program's return value also decides whether perf's own users of the
 * tracepoint get the event: 1 lets them.
 */
#define PASS_ON 1

/* Takes the buffer; false if it is in use. Sending the sample gives it back. */
static __always_inline bool state_take(struct program_state *state)
{
	if (state->busy) {
		state->counters.scratch_busy++;
		return false;
	}
	state->busy = 1;
	return true;
}

static __always_inline void header_fill(struct program_state *state, __u8 kind, __u64 pid_tgid,
					__u32 fields_size)
{
	struct stackmap_record_header *header = header_of(state, fields_size);

	header->kind = kind;
	header->time_ns = bpf_ktime_get_ns();
	header->tid = (__u32)pid_tgid;
	header->tgid = pid_tgid >> 32;
	state->string_size = 0;
}

/*
 * Begins a sample of `kind`, with its state at `index`, about the current thread and `subject`
 * (another one, or 0). NULL if it is filtered or the buffer is busy; that is counted.
 */
static __always_inline struct program_state *sample_begin(__u8 kind, __u32 index, __u32 subject,
							  __u32 fields_size)
{
	__u64 pid_tgid;
	struct program_state *state;

	if (phase < STACKMAP_EVENTS)
		return NULL;
	pid_tgid = bpf_get_current_pid_tgid();
	state = state_of(index);
	if (!state)
		return NULL;
	if (!is_wanted(pid_tgid >> 32, (__u32)pid_tgid, subject)) {
		state->counters.filtered++;
		return NULL;
	}
	if (phase == STACKMAP_COUNT) {
		state->counters.throttled++;
		return NULL;
	}
	if (!state_take(state))
		return NULL;
	header_fill(state, kind, pid_tgid, fields_size);
	return state;
}

/* Puts the string behind `stack` bytes of frames and sends the record. Counts how that ended. */
static __always_inline void sample_send(void *ctx, struct program_state *state, __u32 fields_size,
					__u64 stack)
{
	struct stackmap_record_header *header = header_of(state, fields_size);
	__u64 string = state->string_size;
	long error;

	if (stack > stack_bytes || string > STACKMAP_STRING_SIZE)
		stack = string = 0; /* neither happens: for the verifier */
	if (string) {
		__u64 *to = (void *)state->frames + stack;
		__u32 i;

		for (i = 0; i < STRING_WORDS; i++)
			to[i] = state->string[i];
	}
	header->string_size = string;
	header->size = sizeof(*header) + fields_size + stack + string;
	error = bpf_perf_event_output(ctx, &ring, BPF_F_CURRENT_CPU, header,
				      sizeof(*header) + fields_size + stack + string);
	if (!error)
		state->counters.sent++;
	else if (error == -ENOSPC)
		state->counters.ring_full++;
	else
		state->counters.output_error++;
	state->busy = 0;
}

/* Takes a string of the kernel. */
static __always_inline void sample_string(struct program_state *state, const void *from)
{
	long length;
	__u32 i;

	for (i = 0; i < STRING_WORDS; i++)
		state->string[i] = 0;
	length = bpf_probe_read_kernel_str(state->string, STACKMAP_STRING_SIZE, from);
	if (length > 0)
		state->string_size = (length + 7) & ~7;
}

/*
 * Ends a sample that has `fields_size` bytes of fields, of which the first `dynamic_size` differ
 * from event to event: takes the stack, and sends what the cookie cache does not spare.
 */
static __always_inline void sample_end(void *ctx, struct program_state *state, __u32 fields_size,
				       __u32 dynamic_size)
{
	long stack = stack_take(ctx, state, header_of(state, fields_size));

	if (cached && sample_batch(ctx, state, fields_size, dynamic_size, stack)) {
		state->busy = 0;
		return;
	}
	sample_send(ctx, state, fields_size, stack > 0 ? stack : 0);
}

/*
 * The same for a program that may not use the cache, since it can be interrupted by others, or
 * whose fields do not fit in a batch.
 */
static __always_inline void sample_end_raw(void *ctx, struct program_state *state,
					   __u32 fields_size)
{
	long stack = stack_take(ctx, state, header_of(state, fields_size));

	if (cached)
		batch_send(ctx);
	sample_send(ctx, state, fields_size, stack > 0 ? stack : 0);
}

/* Ends a record for the task table alone. */
static __always_inline void task_end(void *ctx, struct program_state *state, __u32 fields_size)
{
	stack_leave_out(header_of(state, fields_size));
	if (cached)
		batch_send(ctx);
	sample_send(ctx, state, fields_size, 0);
}

#endif /* STACKMAP_SAMPLE_BPF_H */
