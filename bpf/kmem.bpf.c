// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kmem events. Classic tracepoint programs: their stack walk starts at the tracepoint's caller,
 * which is less work than a tp_btf program's walk through its own glue first.
 */
#include "sample.bpf.h"

static __always_inline __u32 clamp32(unsigned long value)
{
	return value > 0xffffffffUL ? 0xffffffffU : value;
}

/*
 * A string that the tracepoint's record holds: the low half of the locator is its offset in the
 * record.
 */
static __always_inline void string_at(struct program_state *state, void *ctx, __u32 locator)
{
	sample_string(state, ctx + (locator & 0xffff));
}

#define ALLOC_FIELDS(fields, ctx)                                                                  \
	do {                                                                                       \
		(fields)->pointer = (__u64)(ctx)->ptr;                                             \
		(fields)->bytes_requested = clamp32((ctx)->bytes_req);                             \
		(fields)->bytes_allocated = clamp32((ctx)->bytes_alloc);                           \
		(fields)->gfp_flags = (ctx)->gfp_flags;                                            \
		(fields)->node = -1;                                                               \
	} while (0)

/*
 * The same from an older kernel's class. Read through a helper: were both loads plain, the compiler
 * would merge them into one from a computed place in the context, which the verifier refuses.
 */
#define ALLOC_FIELDS_OLD(fields, ctx)                                                              \
	do {                                                                                       \
		(fields)->pointer = (__u64)BPF_CORE_READ(ctx, ptr);                                \
		(fields)->bytes_requested = clamp32(BPF_CORE_READ(ctx, bytes_req));                \
		(fields)->bytes_allocated = clamp32(BPF_CORE_READ(ctx, bytes_alloc));              \
		(fields)->gfp_flags = BPF_CORE_READ(ctx, gfp_flags);                               \
		(fields)->node = -1;                                                               \
	} while (0)

SEC("tracepoint/kmem/kmalloc")
int kmalloc(void *ctx)
{
	struct stackmap_alloc_fields *fields;
	struct program_state *state =
		sample_begin(STACKMAP_KMALLOC, STACKMAP_KMALLOC, 0, sizeof(*fields));

	if (!state)
		return PASS_ON;
	fields = fields_of(state, sizeof(*fields));
	if (bpf_core_type_exists(struct trace_event_raw_kmalloc)) {
		struct trace_event_raw_kmalloc *event = ctx;

		ALLOC_FIELDS(fields, event);
		fields->node = event->node;
	} else {
		struct trace_event_raw_kmem_alloc___old *event = ctx;

		ALLOC_FIELDS_OLD(fields, event);
	}
	sample_end(ctx, state, sizeof(*fields), STACKMAP_ALLOC_DYNAMIC);
	return PASS_ON;
}

SEC("tracepoint/kmem/kmem_cache_alloc")
int kmem_cache_alloc(void *ctx)
{
	struct stackmap_alloc_fields *fields;
	struct program_state *state = sample_begin(STACKMAP_KMEM_CACHE_ALLOC,
						   STACKMAP_KMEM_CACHE_ALLOC, 0, sizeof(*fields));

	if (!state)
		return PASS_ON;
	fields = fields_of(state, sizeof(*fields));
	if (bpf_core_type_exists(struct trace_event_raw_kmem_cache_alloc)) {
		struct trace_event_raw_kmem_cache_alloc *event = ctx;

		ALLOC_FIELDS(fields, event);
		if (bpf_core_field_exists(event->node))
			fields->node = event->node;
		if (bpf_core_field_exists(event->__data_loc_name))
			string_at(state, ctx, event->__data_loc_name);
	} else {
		struct trace_event_raw_kmem_alloc___old *event = ctx;

		ALLOC_FIELDS_OLD(fields, event);
	}
	sample_end(ctx, state, sizeof(*fields), STACKMAP_ALLOC_DYNAMIC);
	return PASS_ON;
}

/* The _node forms, which 6.1 folded into the two above. */
static __always_inline int alloc_node(struct trace_event_raw_kmem_alloc_node___old *ctx, __u8 kind)
{
	struct stackmap_alloc_fields *fields;
	struct program_state *state = sample_begin(kind, kind, 0, sizeof(*fields));

	if (!state)
		return PASS_ON;
	fields = fields_of(state, sizeof(*fields));
	ALLOC_FIELDS(fields, ctx);
	fields->node = ctx->node;
	sample_end(ctx, state, sizeof(*fields), STACKMAP_ALLOC_DYNAMIC);
	return PASS_ON;
}

SEC("tracepoint/kmem/kmalloc_node")
int kmalloc_node(struct trace_event_raw_kmem_alloc_node___old *ctx)
{
	return alloc_node(ctx, STACKMAP_KMALLOC_NODE);
}

SEC("tracepoint/kmem/kmem_cache_alloc_node")
int kmem_cache_alloc_node(struct trace_event_raw_kmem_alloc_node___old *ctx)
{
	return alloc_node(ctx, STACKMAP_KMEM_CACHE_ALLOC_NODE);
}

SEC("tracepoint/kmem/kfree")
int kfree(void *ctx)
{
	struct stackmap_free_fields *fields;
	struct program_state *state =
		sample_begin(STACKMAP_KFREE, STACKMAP_KFREE, 0, sizeof(*fields));

	if (!state)
		return PASS_ON;
	fields = fields_of(state, sizeof(*fields));
	if (bpf_core_type_exists(struct trace_event_raw_kfree))
		fields->pointer = (__u64)((struct trace_event_raw_kfree *)ctx)->ptr;
	else
		fields->pointer =
			(__u64)BPF_CORE_READ((struct trace_event_raw_kmem_free___old *)ctx, ptr);
	sample_end(ctx, state, sizeof(*fields), STACKMAP_FREE_DYNAMIC);
	return PASS_ON;
}

SEC("tracepoint/kmem/kmem_cache_free")
int kmem_cache_free(void *ctx)
{
	struct stackmap_free_fields *fields;
	struct program_state *state = sample_begin(STACKMAP_KMEM_CACHE_FREE,
						   STACKMAP_KMEM_CACHE_FREE, 0, sizeof(*fields));

	if (!state)
		return PASS_ON;
	fields = fields_of(state, sizeof(*fields));
	if (bpf_core_type_exists(struct trace_event_raw_kmem_cache_free)) {
		struct trace_event_raw_kmem_cache_free *event = ctx;

		fields->pointer = (__u64)event->ptr;
		if (bpf_core_field_exists(event->__data_loc_name))
			string_at(state, ctx, event->__data_loc_name);
	} else {
		fields->pointer =
			(__u64)BPF_CORE_READ((struct trace_event_raw_kmem_free___old *)ctx, ptr);
	}
	sample_end(ctx, state, sizeof(*fields), STACKMAP_FREE_DYNAMIC);
	return PASS_ON;
}

SEC("tracepoint/kmem/mm_page_alloc")
int mm_page_alloc(struct trace_event_raw_mm_page_alloc *ctx)
{
	struct stackmap_page_fields *fields;
	struct program_state *state =
		sample_begin(STACKMAP_MM_PAGE_ALLOC, STACKMAP_MM_PAGE_ALLOC, 0, sizeof(*fields));

	if (!state)
		return PASS_ON;
	fields = fields_of(state, sizeof(*fields));
	fields->pfn = ctx->pfn;
	fields->order = ctx->order;
	fields->migratetype = ctx->migratetype;
	fields->gfp_flags = ctx->gfp_flags;
	fields->reserved = 0;
	sample_end(ctx, state, sizeof(*fields), STACKMAP_PAGE_DYNAMIC);
	return PASS_ON;
}

SEC("tracepoint/kmem/mm_page_free")
int mm_page_free(struct trace_event_raw_mm_page_free *ctx)
{
	struct stackmap_page_fields *fields;
	struct program_state *state =
		sample_begin(STACKMAP_MM_PAGE_FREE, STACKMAP_MM_PAGE_FREE, 0, sizeof(*fields));

	if (!state)
		return PASS_ON;
	fields = fields_of(state, sizeof(*fields));
	fields->pfn = ctx->pfn;
	fields->order = ctx->order;
	fields->migratetype = 0;
	fields->gfp_flags = 0;
	fields->reserved = 0;
	sample_end(ctx, state, sizeof(*fields), STACKMAP_PAGE_DYNAMIC);
	return PASS_ON;
}
