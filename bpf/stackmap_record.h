/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one contract between the BPF programs and user space: what a record in the perf ring looks
 * like, and the counters.
 *
 * A record is, in this order and without gaps:
 *
 *   struct stackmap_record_header   24 bytes
 *   the fields of its kind          a multiple of 8 bytes, see below
 *   the kernel stack                header.kernel_stack bytes if that is positive, __u64 each,
 *                                   innermost first
 *   the user stack                  header.user_stack bytes if that is positive, likewise
 *   a string, NUL-terminated        header.string_size bytes, a multiple of 8, 0 if there is none;
 *                                   what follows the NUL is undefined
 *
 * header.size is the length of all that. It is not what the ring's reader is told: perf pads raw
 * data. Byte order is the machine's. Numbers are append-only: a retired one leaves a hole.
 */
#ifndef STACKMAP_RECORD_H
#define STACKMAP_RECORD_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/*
 * Kinds. Each is also the index of its program's state (struct stackmap_counters) in the map
 * `programs`.
 */
enum stackmap_kind {
	STACKMAP_KMALLOC = 1,
	STACKMAP_KMEM_CACHE_ALLOC = 2,
	STACKMAP_KFREE = 3,
	STACKMAP_KMEM_CACHE_FREE = 4,
	STACKMAP_MM_PAGE_ALLOC = 5,
	STACKMAP_MM_PAGE_FREE = 6,
	STACKMAP_SCHED_SWITCH = 7,
	STACKMAP_SCHED_WAKING = 8,
	STACKMAP_SCHED_WAKEUP = 9,
	STACKMAP_SCHED_WAKEUP_NEW = 10,
	STACKMAP_SCHED_PROCESS_FORK = 11,
	STACKMAP_SCHED_PROCESS_EXEC = 12,
	STACKMAP_SCHED_PROCESS_EXIT = 13,
	STACKMAP_KMALLOC_NODE = 14,
	STACKMAP_KMEM_CACHE_ALLOC_NODE = 15,
	STACKMAP_TASK_RENAME = 16, /* for the task table only */
	STACKMAP_ANY_FIELDS = 29,  /* as ANY, with some of the tracepoint's own fields */
	STACKMAP_BATCH = 30,	   /* many events in one record: stackmap_cache.h */
	/*
	 * Any other tracepoint: kind is STACKMAP_ANY, its own number is in the fields, and its
	 * state is at that number.
	 */
	STACKMAP_ANY = 31,
	STACKMAP_FIRST_ANY = 32,
};

enum {
	STACKMAP_RECORD_VERSION = 3, /* +1 when a record of an old reader would be misread */
	STACKMAP_COMM_SIZE = 16,     /* TASK_COMM_LEN of the kernel */
	STACKMAP_STRING_SIZE = 64,   /* the longest string, NUL included; longer ones are cut */
	STACKMAP_ANY_MAX = 512,	     /* tracepoints without a program of their own, in a session */
	/*
	 * Where a tracepoint's own record has a field, in an element of `any_places`: its offset
	 * below this bit, and from it on its size, 8 bytes at most; 0: there is no field.
	 */
	STACKMAP_PLACE_SIZE_SHIFT = 16,
	STACKMAP_ANY_WORDS = 4,	    /* and fields that one of them keeps */
	STACKMAP_MAX_FRAMES = 1023, /* so that a stack's size fits the header's field */
	/*
	 * In kernel_stack: this record is for the task table alone; the event was not asked for, or
	 * was filtered. Otherwise a negative size is -errno of the stack walk.
	 */
	STACKMAP_TASK_ONLY = -32768,
};

struct stackmap_record_header {
	__u16 size;	    /* bytes of the record, this header included */
	__u8 kind;	    /* enum stackmap_kind */
	__u8 string_size;   /* bytes */
	__s16 kernel_stack; /* bytes, or -errno, or STACKMAP_TASK_ONLY */
	__s16 user_stack;   /* bytes, or -errno */
	__u64 time_ns;	    /* CLOCK_MONOTONIC */
	__u32 tid;	    /* the thread that was running */
	__u32 tgid;
};

/*
 * Fields that differ from event to event come first in a kind's, and X_DYNAMIC says how many bytes
 * of them there are: what an entry of a batch (stackmap_cache.h) carries.
 */

/*
 * KMALLOC, KMALLOC_NODE, KMEM_CACHE_ALLOC, KMEM_CACHE_ALLOC_NODE (string: the cache's name, where
 * the kernel gives it)
 */
struct stackmap_alloc_fields {
	__u64 pointer;	       /* 0: the allocation failed */
	__u32 bytes_requested; /* 0xffffffff: that or more */
	__u32 bytes_allocated; /* likewise */
	__u32 gfp_flags;
	__s32 node; /* -1: any, or the kernel does not say */
};
#define STACKMAP_ALLOC_DYNAMIC 8

/* KFREE, KMEM_CACHE_FREE (string: the cache's name, where the kernel gives it) */
struct stackmap_free_fields {
	__u64 pointer;
};
#define STACKMAP_FREE_DYNAMIC 8

/* MM_PAGE_ALLOC, MM_PAGE_FREE (gfp_flags and migratetype are 0) */
struct stackmap_page_fields {
	__u64 pfn; /* all ones: the allocation failed */
	__u32 order;
	__s32 migratetype;
	__u32 gfp_flags;
	__u32 reserved;
};
#define STACKMAP_PAGE_DYNAMIC 8

/* SCHED_SWITCH: the header's thread is the one that is switched out */
struct stackmap_switch_fields {
	__u32 prev_state; /* as the tracepoint gives it: 1 S, 2 D, 4 T, 8 t, ...; 0 R; 0x100
			     preempted */
	__u32 next_tid;
	__s32 prev_prio;
	__s32 next_prio;
};
#define STACKMAP_SWITCH_DYNAMIC 8

/* SCHED_WAKING, SCHED_WAKEUP, SCHED_WAKEUP_NEW */
struct stackmap_wakeup_fields {
	__u32 tid;
	__s32 target_cpu;
	__s32 prio;
	__u32 reserved;
};
#define STACKMAP_WAKEUP_DYNAMIC 8

/* SCHED_PROCESS_FORK, SCHED_PROCESS_EXEC (string: the file), SCHED_PROCESS_EXIT, TASK_RENAME */
struct stackmap_task_fields {
	__u32 tid; /* the child; the one that runs from now on; that exits; that is renamed */
	__u32 tgid;
	__u32 old_tid; /* EXEC: the number of the thread that called it; FORK: the parent's process
			*/
	__s32 prio;    /* EXIT */
	char comm[STACKMAP_COMM_SIZE];
};

/* ANY */
struct stackmap_any_fields {
	__u32 event; /* from STACKMAP_FIRST_ANY */
	__u32 reserved;
};
#define STACKMAP_ANY_DYNAMIC 0

/*
 * ANY_FIELDS: the fields that user space has put in the programs' `any_places`, each in the first
 * bytes of its word; the rest is 0.
 */
struct stackmap_any_words {
	struct stackmap_any_fields any;
	__u64 words[STACKMAP_ANY_WORDS];
};

/*
 * What is recorded now. User space sets it once all programs are attached, and back before it
 * detaches them: attaching takes long enough for a busy CPU's ring to overflow.
 */
enum stackmap_phase {
	STACKMAP_NOTHING = 0,
	STACKMAP_TASKS = 1,  /* the task table's records alone */
	STACKMAP_EVENTS = 2, /* and the events */
	STACKMAP_COUNT = 3,  /* as EVENTS, but what happens often is counted alone, as throttled */
};

/*
 * How the runs of a program ended, per program and CPU. With the program's recursion misses (struct
 * bpf_prog_info) they add up to the times that the tracepoint fired while events were recorded.
 */
struct stackmap_counters {
	__u64 filtered;	    /* left out by a filter, before the stack was walked */
	__u64 sent;	    /* put in the ring */
	__u64 ring_full;    /* -ENOSPC from the ring */
	__u64 output_error; /* any other error from the ring: its CPU has none (-ENOENT), or it was
			       taken offline */
	__u64 scratch_busy; /* the program's buffer was in use on this CPU */
	/* In use with `busy` of the CPU's batch (stackmap_cache.h), the others with the program's.
	 */
	__u64 batched;	   /* put in a batch, which is in the ring or still grows */
	__u64 batch_full;  /* put in a batch that met -ENOSPC from the ring */
	__u64 batch_error; /* put in a batch that met another error */
	__u64 throttled;   /* not filtered, and left out because the phase was COUNT */
};

#ifdef __cplusplus
#define STACKMAP_ASSERT(condition, text) static_assert(condition, text)
#else
#define STACKMAP_ASSERT(condition, text) _Static_assert(condition, text)
#endif
STACKMAP_ASSERT(sizeof(struct stackmap_record_header) == 24, "record header");
STACKMAP_ASSERT(sizeof(struct stackmap_alloc_fields) == 24, "alloc fields");
STACKMAP_ASSERT(sizeof(struct stackmap_free_fields) == 8, "free fields");
STACKMAP_ASSERT(sizeof(struct stackmap_page_fields) == 24, "page fields");
STACKMAP_ASSERT(sizeof(struct stackmap_switch_fields) == 16, "switch fields");
STACKMAP_ASSERT(sizeof(struct stackmap_wakeup_fields) == 16, "wakeup fields");
STACKMAP_ASSERT(sizeof(struct stackmap_task_fields) == 32, "task fields");
STACKMAP_ASSERT(sizeof(struct stackmap_any_fields) == 8, "any fields");
STACKMAP_ASSERT(sizeof(struct stackmap_any_words) == 40, "any words");
STACKMAP_ASSERT(sizeof(struct stackmap_counters) == 72, "counters");
STACKMAP_ASSERT(STACKMAP_MAX_FRAMES * 8 <= 32767, "a stack's size fits the header");

#endif /* STACKMAP_RECORD_H */
