/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cookie cache, which the BPF programs and user space share as memory, and the batches.
 *
 * An entry of the cache is a template: all of an event that recurs with it, which is its kind, the
 * static part of its fields, its string and its whole stack. User space publishes a template under
 * an id. A program that finds the template of its event sends the id and the rest, in a batch, in
 * place of a record. It compares every word: the hash only says where to look.
 *
 * Reading an entry is exact though user space may be writing it. The writer sets `id` to 0, writes
 * the contents, and sets `id` to a number that the session has never used. The reader reads `id`,
 * compares the contents, and reads `id` again. Let it have read X both times, not 0. The contents
 * of X were written before the first read of X. Those of its successor were written after `id`
 * became 0, and X does not come back: had the reader seen one of them, it would have read something
 * else the second time. For this, stores become visible in order, and loads are done in order. On
 * x86 both always hold. On arm64 the writer's stores are release stores, and an atomic
 * read-modify-write with acquire and release semantics stands between the reader's loads, which
 * orders all accesses before it with all that follow (Arm ARM, "barrier-ordered-before"; BPF has no
 * barrier of its own).
 */
#ifndef STACKMAP_CACHE_H
#define STACKMAP_CACHE_H

#include "stackmap_record.h"

#define STACKMAP_CACHE_FRAMES	    64 /* deeper stacks are not cached */
#define STACKMAP_CACHE_STRING_WORDS (STACKMAP_STRING_SIZE / 8)
#define STACKMAP_CACHE_FIELD_WORDS  2

/* What a template is looked up by, beside its string and its stack. */
struct stackmap_cache_key {
	__u64 shape; /* stackmap_cache_shape() */
	/* What follows the dynamic part of the record's fields; 0 where it is shorter. */
	__u64 fields[STACKMAP_CACHE_FIELD_WORDS];
};

struct stackmap_cache_entry {
	__u32 id;	  /* unique in the session, never reused; 0: empty, or being written */
	__u32 generation; /* of the stack map; used while it is `cache_generation` */
	__u64 hash;
	struct stackmap_cache_key key;
	/* Zero from its NUL to the end of its last word; the words behind that are undefined. */
	__u64 string[STACKMAP_CACHE_STRING_WORDS];
	__u64 frames[STACKMAP_CACHE_FRAMES]; /* undefined from the end of the stack on */
	__u64 reserved[3];
};

/*
 * A batch is a record whose header has the kind STACKMAP_BATCH. The header's kernel_stack is the
 * number of events, its time and thread are those of the first one, string_size and user_stack are
 * 0. Entries follow, without gaps:
 *
 *   __u32 when   bits 0-29: nanoseconds since the header's time; bits 30-31: words that follow `id`
 *   __u32 id     the event's template
 *   words        the dynamic part of its kind's fields: one, or none
 *
 * or, for a thread, which is that of the entries from there on:
 *
 *   __u32 tid
 *   __u32 id     STACKMAP_BATCH_THREAD + its tgid
 */
#define STACKMAP_BATCH_TID_BITS	 22	     /* PID_MAX_LIMIT of the kernel is 1 << 22 */
#define STACKMAP_BATCH_THREAD	 0xffc00000U /* and above: no template has such an id */
#define STACKMAP_BATCH_TIME_BITS 30
#define STACKMAP_BATCH_TIME_MASK ((1U << STACKMAP_BATCH_TIME_BITS) - 1)
#define STACKMAP_BATCH_ENTRY_MAX 24	   /* bytes: a thread, and an event of a word */
#define STACKMAP_BATCH_AGE_NS	 100000000 /* an older one is sent before it grows */
#define STACKMAP_BATCH_BYTES	 1992	   /* of entries */

/* The batch of one CPU, as it grows. */
struct stackmap_batch {
	__u32 busy; /* in use by a program; it may be interrupted by another one */
	/* User space, which found the CPU offline, takes the batch: programs do without. */
	__u32 claimed;
	__u64 number; /* +1 whenever it is emptied */
	__u64 thread; /* of the last entry */
	__u32 used;   /* bytes of entries */
	__u32 reserved;
	struct stackmap_record_header header; /* from here on it is the record */
	char entries[STACKMAP_BATCH_BYTES];
};

/* Loads of what user space may be writing, and the order between them. */
#ifdef __bpf__
#define STACKMAP_READ(place) (*(const volatile __typeof__(place) *)&(place))
#ifdef __TARGET_ARCH_arm64
/* The result is used: without that it would be an addition that orders nothing. */
#define STACKMAP_FENCE(word)                                                                       \
	do {                                                                                       \
		__u64 before_ = __sync_fetch_and_add(word, 1);                                     \
		__asm__ volatile("" : : "r"(before_) : "memory");                                  \
	} while (0)
#else
#define STACKMAP_FENCE(word) __asm__ volatile("" : : "r"(word) : "memory")
#endif
#else
#define STACKMAP_READ(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
#define STACKMAP_FENCE(word) ((void)(word))
#endif

/* Keeps the compiler from making a loop of what the verifier cannot follow. */
#define STACKMAP_OPAQUE(index) __asm__ volatile("" : "+r"(index))
#define STACKMAP_INLINE	       static inline __attribute__((always_inline, unused))

/* Kind and sizes of a template in one word. Both sizes are in bytes. */
STACKMAP_INLINE __u64 stackmap_cache_shape(__u64 kind, __u64 string_size, __u64 stack_size)
{
	return kind | string_size << 8 | stack_size << 16;
}

STACKMAP_INLINE __u64 stackmap_shape_string_words(__u64 shape)
{
	return (shape >> 8 & 0xff) / 8;
}

STACKMAP_INLINE __u64 stackmap_shape_frames(__u64 shape)
{
	return (shape >> 16 & 0xffff) / 8;
}

/* A weak step, for its time; the last one folds the upper half, where all words have met. */
STACKMAP_INLINE __u64 stackmap_cache_mix(__u64 hash, __u64 word)
{
	return (hash ^ word) * 0x9e3779b97f4a7c15ULL;
}

/*
 * The low bits say where the template is looked for: there, and in the place whose number differs
 * in the lowest bit. The key is read anew where it is needed again, in both functions: the verifier
 * would remember how long a loop over it was, and follow the next one once for each length.
 */
STACKMAP_INLINE __u64 stackmap_cache_hash(const struct stackmap_cache_key *key, const __u64 *string,
					  const __u64 *frames)
{
	__u64 hash = stackmap_cache_mix(key->shape, key->fields[0]);
	__u64 words = stackmap_shape_string_words(STACKMAP_READ(key->shape));
	__u64 i;

	hash = stackmap_cache_mix(hash, key->fields[1]);
	for (i = 0; i < STACKMAP_CACHE_STRING_WORDS; i++) {
		STACKMAP_OPAQUE(i);
		if (i >= words)
			break;
		hash = stackmap_cache_mix(hash, string[i]);
	}
	words = stackmap_shape_frames(STACKMAP_READ(key->shape));
	for (i = 0; i < STACKMAP_CACHE_FRAMES; i++) {
		STACKMAP_OPAQUE(i);
		if (i >= words)
			break;
		hash = stackmap_cache_mix(hash, frames[i]);
	}
	return hash ^ hash >> 32;
}

/* The entry's id if it is of `generation` and holds this very template, else 0. */
STACKMAP_INLINE __u32 stackmap_cache_match(const struct stackmap_cache_entry *entry,
					   __u32 generation, __u64 hash,
					   const struct stackmap_cache_key *key,
					   const __u64 *string, const __u64 *frames, __u64 *fence)
{
	__u32 id = STACKMAP_READ(entry->id);
	__u64 differs, words, i;

	if (!id)
		return 0;
	STACKMAP_FENCE(fence);
	differs = (STACKMAP_READ(entry->hash) ^ hash) |
		  (STACKMAP_READ(entry->key.shape) ^ key->shape) |
		  (STACKMAP_READ(entry->generation) ^ generation);
	if (differs)
		return 0;
	differs = (STACKMAP_READ(entry->key.fields[0]) ^ key->fields[0]) |
		  (STACKMAP_READ(entry->key.fields[1]) ^ key->fields[1]);
	words = stackmap_shape_string_words(STACKMAP_READ(key->shape));
	for (i = 0; i < STACKMAP_CACHE_STRING_WORDS; i++) {
		STACKMAP_OPAQUE(i);
		if (i >= words)
			break;
		differs |= STACKMAP_READ(entry->string[i]) ^ string[i];
	}
	words = stackmap_shape_frames(STACKMAP_READ(key->shape));
	for (i = 0; i < STACKMAP_CACHE_FRAMES; i++) {
		STACKMAP_OPAQUE(i);
		if (i >= words)
			break;
		differs |= STACKMAP_READ(entry->frames[i]) ^ frames[i];
	}
	STACKMAP_FENCE(fence);
	return !differs && STACKMAP_READ(entry->id) == id ? id : 0;
}

STACKMAP_ASSERT(sizeof(struct stackmap_cache_entry) == 640, "cache entry, whole cache lines");
STACKMAP_ASSERT(sizeof(struct stackmap_batch) == 2048, "batch");
STACKMAP_ASSERT(STACKMAP_BATCH_THREAD + (1U << STACKMAP_BATCH_TID_BITS) == 0,
		"every tgid has an id");
STACKMAP_ASSERT(STACKMAP_BATCH_AGE_NS <= STACKMAP_BATCH_TIME_MASK, "a batch's times fit");

#endif /* STACKMAP_CACHE_H */
