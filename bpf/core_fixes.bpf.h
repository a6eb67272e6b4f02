/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What differs between kernels, 5.10 to 6.18, each with the kernel commit that changed it. A name
 * that ends in ___old is the type as it was before; which one the running kernel has is decided at
 * load time.
 */
#ifndef STACKMAP_CORE_FIXES_BPF_H
#define STACKMAP_CORE_FIXES_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/*
 * Up to 6.0 kmalloc and kmem_cache_alloc share the class kmem_alloc, and their _node forms the
 * class kmem_alloc_node; 11e9734bcb6a ("mm/slab_common: unify NUMA and UMA version of tracepoints")
 * and 2c1d697fb8ba ("mm/slab_common: drop kmem_alloc & avoid dereferencing fields when not using")
 * gave each its own.
 */
struct trace_event_raw_kmem_alloc___old {
	const void *ptr;
	unsigned long bytes_req;
	unsigned long bytes_alloc;
	unsigned int gfp_flags;
};

struct trace_event_raw_kmem_alloc_node___old {
	const void *ptr;
	unsigned long bytes_req;
	unsigned long bytes_alloc;
	unsigned int gfp_flags;
	int node;
};

/*
 * Before 3544de8ee6e4 ("mm, tracing: record slab name for kmem_cache_free()"), 5.12: kfree and
 * kmem_cache_free share one.
 */
struct trace_event_raw_kmem_free___old {
	const void *ptr;
};

#pragma clang attribute pop

#endif /* STACKMAP_CORE_FIXES_BPF_H */
