/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel types that the programs read, by hand and minimal: only the fields that are used.
 * Their places are relocated at load time (CO-RE), so neither order nor omissions matter, and one
 * header serves every kernel and architecture.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef signed short __s16;
typedef unsigned short __u16;
typedef signed int __s32;
typedef unsigned int __u32;
typedef signed long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

enum {
	false = 0,
	true = 1,
};

enum {
	BPF_ANY = 0,
};

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
};

#define BPF_F_CURRENT_CPU 0xffffffffULL
#define BPF_F_MMAPABLE	  (1U << 10)

#define ENOENT 2
#define ENOSPC 28

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct {
	int pid;
	int tgid;
	int prio;
	char comm[16];
};

struct linux_binprm {
	const char *filename;
};

/* One template for both since 6.1 (kernel commits 11e9734bcb6a, 2c1d697fb8ba). */
struct trace_event_raw_kmalloc {
	const void *ptr;
	unsigned long bytes_req;
	unsigned long bytes_alloc;
	unsigned long gfp_flags;
	int node;
};

struct trace_event_raw_kmem_cache_alloc {
	const void *ptr;
	__u32 __data_loc_name;
	unsigned long bytes_req;
	unsigned long bytes_alloc;
	unsigned long gfp_flags;
	int node;
};

struct trace_event_raw_kfree {
	const void *ptr;
};

struct trace_event_raw_kmem_cache_free {
	const void *ptr;
	__u32 __data_loc_name;
};

struct trace_event_raw_mm_page_alloc {
	unsigned long pfn;
	unsigned int order;
	unsigned long gfp_flags;
	int migratetype;
};

struct trace_event_raw_mm_page_free {
	unsigned long pfn;
	unsigned int order;
};

struct trace_event_raw_sched_switch {
	int prev_pid;
	int prev_prio;
	long prev_state;
	int next_pid;
	int next_prio;
};

struct trace_event_raw_sched_wakeup_template {
	int pid;
	int prio;
	int target_cpu;
};

#pragma clang attribute pop

#endif /* __VMLINUX_H__ */
