/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one door to stacks: how they are walked, where their frames go, and what the record says of
 * them. Another walker, or the user's stack behind the kernel's, goes here.
 */
#ifndef STACKMAP_STACK_BPF_H
#define STACKMAP_STACK_BPF_H

#include "batch.bpf.h"

/*
 * Walks the stacks of the current thread straight into the place that they have in its record, and
 * says in the header how that went. Returns bytes of frames, or -errno.
 */
static __always_inline long stack_take(void *ctx, struct program_state *state,
				       struct stackmap_record_header *header)
{
	long stack = bpf_get_stack(ctx, state->frames, stack_bytes, 0);

	header->kernel_stack = stack;
	header->user_stack = 0;
	return stack;
}

/* For a record that is for the task table alone. */
static __always_inline void stack_leave_out(struct stackmap_record_header *header)
{
	header->kernel_stack = STACKMAP_TASK_ONLY;
	header->user_stack = 0;
}

#endif /* STACKMAP_STACK_BPF_H */
