/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is recorded of what fires: decided before anything is done for it. */
#ifndef STACKMAP_FILTER_BPF_H
#define STACKMAP_FILTER_BPF_H

#include "state.bpf.h"

static __always_inline bool is_target(__u32 tid)
{
	return bpf_map_lookup_elem(&targets, &tid) != NULL;
}

/* An event that `tid` of `tgid` runs into, about `subject` (another thread, or 0). */
static __always_inline bool is_wanted(__u32 tgid, __u32 tid, __u32 subject)
{
	if (tgid == profiler_tgid)
		return false;
	return !narrowed || is_target(tid) || (subject && is_target(subject));
}

/* A thread that a target starts is one too, if the target's entry says so. */
static __always_inline void target_follow(__u32 tid, __u32 child_tid)
{
	__u32 *inherit = narrowed ? bpf_map_lookup_elem(&targets, &tid) : NULL;

	if (inherit && *inherit) {
		__u32 yes = 1;

		bpf_map_update_elem(&targets, &child_tid, &yes, BPF_ANY);
	}
}

static __always_inline void target_forget(__u32 tid)
{
	bpf_map_delete_elem(&targets, &tid);
}

#endif /* STACKMAP_FILTER_BPF_H */
