/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What every program does, once each: begin a sample (filter, buffer), take the stack, send, count.
 * The programs differ in their fields alone. The maps and settings are defined in stackmap.bpf.c.
 */
#ifndef STACKMAP_SAMPLE_BPF_H
#define STACKMAP_SAMPLE_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "core_fixes.bpf.h"
#include "stackmap_record.h"

#define FRAMES_DEFAULT 127
#define FIELDS_MAX     32
/* Every size that a string can have; the largest value is the verifier's bound. */
#define STRING_MASK 0x78

/*
 * A program's own buffer and counters on one CPU. An interrupt can run another program in the
 * middle of this one.
 */
struct program_state {
	struct stackmap_counters counters;
	__u32 busy;
	__u32 reserved;
	struct stackmap_record_header header;
	/*
	 * Fields, string and stacks. User space makes the map's value larger when the kernel's
	 * stacks are deeper.
	 */
	char body[FIELDS_MAX + STRING_MASK + FRAMES_DEFAULT * 8];
};

struct ring_map {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
};

struct programs_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, STACKMAP_FIRST_ANY);
	__type(key, __u32);
	__type(value, struct program_state);
};

/*
 * The threads to record, when that is narrowed. The value says whether its children are to be
 * recorded too.
 */
struct targets_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
};

extern struct ring_map ring SEC(".maps");
extern struct programs_map programs SEC(".maps");
extern struct targets_map targets SEC(".maps");

extern const volatile __u32 profiler_tgid;		 /* left out */
extern const volatile __u32 stack_bytes;		 /* of the deepest stack to take */
extern const volatile bool narrowed;			 /* record only `targets` */
extern const volatile bool selected[STACKMAP_FIRST_ANY]; /* the kinds asked for as events */
extern volatile __u32 phase;				 /* enum stackmap_phase */

/*
 * A classic tracepoint program's return value also decides whether perf's own users of the
 * tracepoint get the event: 1 lets them.
 */
#define PASS_ON 1

static __always_inline struct program_state *state_of(__u32 index)
{
	return bpf_map_lookup_elem(&programs, &index);
}

static __always_inline bool is_target(__u32 tid)
{
	return bpf_map_lookup_elem(&targets, &tid) != NULL;
}

/*
 * Takes the buffer; NULL if it is in use. The caller gives it back with sample_end() or
 * sample_drop().
 */
static __always_inline bool state_take(struct program_state *state)
{
	if (state->busy) {
		state->counters.scratch_busy++;
		return false;
	}
	state->busy = 1;
	return true;
}

static __always_inline void header_fill(struct program_state *state, __u8 kind, __u64 pid_tgid)
{
	state->header.kind = kind;
	state->header.string_size = 0;
	state->header.user_stack = 0;
	state->header.time_ns = bpf_ktime_get_ns();
	state->header.tid = (__u32)pid_tgid;
	state->header.tgid = pid_tgid >> 32;
}

/*
 * Begins a sample of `kind`, with its state at `index`, about the current thread and `subject`
 * (another one, or 0). NULL if it is filtered or the buffer is busy; that is counted.
 */
static __always_inline struct program_state *sample_begin(__u8 kind, __u32 index, __u32 subject)
{
	__u64 pid_tgid;
	struct program_state *state;

	if (phase != STACKMAP_EVENTS)
		return NULL;
	pid_tgid = bpf_get_current_pid_tgid();
	state = state_of(index);
	if (!state)
		return NULL;
	if (pid_tgid >> 32 == profiler_tgid ||
	    (narrowed && !is_target((__u32)pid_tgid) && !(subject && is_target(subject)))) {
		state->counters.filtered++;
		return NULL;
	}
	if (!state_take(state))
		return NULL;
	header_fill(state, kind, pid_tgid);
	return state;
}

/* The one door to the stack walk. Returns bytes or -errno. */
static __always_inline long stack_take(void *ctx, void *to)
{
	return bpf_get_stack(ctx, to, stack_bytes, 0);
}

/* Sends the first `size` bytes of the record and counts how that ended. */
static __always_inline void sample_send(void *ctx, struct program_state *state, __u64 size)
{
	long error;

	state->header.size = size;
	error = bpf_perf_event_output(ctx, &ring, BPF_F_CURRENT_CPU, &state->header, size);
	if (!error)
		state->counters.sent++;
	else if (error == -ENOSPC)
		state->counters.ring_full++;
	else
		state->counters.output_error++;
	state->busy = 0;
}

/* Puts a string of the kernel behind the fields. */
static __always_inline void sample_string(struct program_state *state, __u32 fields_size,
					  const void *from)
{
	long length =
		bpf_probe_read_kernel_str(state->body + fields_size, STACKMAP_STRING_SIZE, from);

	if (length > 0)
		state->header.string_size = (length + 7) & ~7;
}

/* Ends a sample that has `fields_size` bytes of fields: takes the stack and sends. */
static __always_inline void sample_end(void *ctx, struct program_state *state, __u32 fields_size)
{
	__u64 at = fields_size + (state->header.string_size & STRING_MASK);
	long stack = stack_take(ctx, state->body + at);

	state->header.kernel_stack = stack;
	if (stack < 0)
		stack = 0;
	sample_send(ctx, state, sizeof(state->header) + at + stack);
}

/* Ends a record for the task table alone. */
static __always_inline void task_end(void *ctx, struct program_state *state, __u32 fields_size)
{
	__u64 at = fields_size + (state->header.string_size & STRING_MASK);

	state->header.kernel_stack = STACKMAP_TASK_ONLY;
	sample_send(ctx, state, sizeof(state->header) + at);
}

#endif /* STACKMAP_SAMPLE_BPF_H */
