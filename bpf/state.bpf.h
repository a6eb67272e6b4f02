/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs share: maps, settings, and the state of each. They are defined in
 * stackmap.bpf.c.
 */
#ifndef STACKMAP_STATE_BPF_H
#define STACKMAP_STATE_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "core_fixes.bpf.h"
#include "stackmap_cache.h"
#include "stackmap_record.h"

#define FRAMES_DEFAULT 127
#define FIELDS_MAX     40
#define STATES_MAX     (STACKMAP_FIRST_ANY + STACKMAP_ANY_MAX)
#define STRING_WORDS   (STACKMAP_STRING_SIZE / 8)

/*
 * A program's own buffer and counters on one CPU. An interrupt can run another program in the
 * middle of this one.
 */
struct program_state {
	struct stackmap_counters counters;
	__u64 batch; /* the number of the batch that `batch_events` went into */
	__u64 fence; /* STACKMAP_FENCE() */
	__u32 batch_events;
	__u32 busy;
	__u32 found;	   /* what cache_find() last gave */
	__u32 string_size; /* bytes of `string`, a multiple of 8 */
	struct stackmap_cache_key key;
	/* NUL-terminated, and zero from there to the end of its last word. */
	__u64 string[STRING_WORDS];
	/*
	 * The record. Its stack has one place for all kinds: the fields end there, the header ends
	 * where they begin, and the string is put behind the stack when that is known.
	 */
	char front[sizeof(struct stackmap_record_header) + FIELDS_MAX];
	/*
	 * User space makes the map's value larger when the kernel's stacks are deeper.
	 */
	__u64 frames[FRAMES_DEFAULT];
	__u64 behind[STRING_WORDS];
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

struct cache_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stackmap_cache_entry);
};

/*
 * By CPU. Not a per-CPU map: user space can only take the batch of a CPU that is offline if it can
 * also mark it empty, and sees without a system call which ones are not.
 */
struct batches_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stackmap_batch);
};

extern struct ring_map ring SEC(".maps");
extern struct programs_map programs SEC(".maps");
extern struct targets_map targets SEC(".maps");
extern struct cache_map cache SEC(".maps");
extern struct batches_map batches SEC(".maps");

extern const volatile __u32 profiler_tgid;		 /* left out */
extern const volatile __u32 stack_bytes;		 /* of the deepest stack to take */
extern const volatile bool narrowed;			 /* record only `targets` */
extern const volatile bool selected[STACKMAP_FIRST_ANY]; /* the kinds asked for as events */
/* By number of the tracepoint. */
extern const volatile __u32 any_places[STACKMAP_ANY_MAX][STACKMAP_ANY_WORDS];
extern const volatile bool cached;	/* the cookie cache is used */
extern const volatile __u32 cache_mask; /* its entries - 1 */
extern const volatile __u32 states;	/* of `programs` */
extern volatile __u32 phase;		/* enum stackmap_phase */
extern volatile __u32 cache_generation; /* of the entries to use; 0: none */

static __always_inline struct program_state *state_of(__u32 index)
{
	return bpf_map_lookup_elem(&programs, &index);
}

/* Where the fields are. Their size is a constant of each program. */
static __always_inline void *fields_of(struct program_state *state, __u32 fields_size)
{
	return (char *)state->frames - fields_size;
}

static __always_inline struct stackmap_record_header *header_of(struct program_state *state,
								__u32 fields_size)
{
	return fields_of(state, fields_size + sizeof(struct stackmap_record_header));
}

#endif /* STACKMAP_STATE_BPF_H */
