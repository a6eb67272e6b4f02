// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sched events. Switches and wake-ups are classic tracepoint programs, like kmem's. The life of
 * tasks is taken by tp_btf programs: they are rare, they see the task itself (its process, its new
 * name), and they do not share the classic programs' recursion guard, so the task table misses
 * none.
 */
#include "sample.bpf.h"
#include <bpf/bpf_tracing.h>

SEC("tracepoint/sched/sched_switch")
int sched_switch(struct trace_event_raw_sched_switch *ctx)
{
	struct stackmap_switch_fields *fields;
	struct program_state *state = sample_begin(STACKMAP_SCHED_SWITCH, STACKMAP_SCHED_SWITCH,
						   ctx->next_pid, sizeof(*fields));

	if (!state)
		return PASS_ON;
	fields = fields_of(state, sizeof(*fields));
	fields->prev_state = ctx->prev_state;
	fields->next_tid = ctx->next_pid;
	fields->prev_prio = ctx->prev_prio;
	fields->next_prio = ctx->next_prio;
	sample_end(ctx, state, sizeof(*fields), STACKMAP_SWITCH_DYNAMIC);
	return PASS_ON;
}

static __always_inline int wakeup(struct trace_event_raw_sched_wakeup_template *ctx, __u8 kind)
{
	struct stackmap_wakeup_fields *fields;
	struct program_state *state = sample_begin(kind, kind, ctx->pid, sizeof(*fields));

	if (!state)
		return PASS_ON;
	fields = fields_of(state, sizeof(*fields));
	fields->tid = ctx->pid;
	fields->prio = ctx->prio;
	fields->target_cpu = ctx->target_cpu;
	fields->reserved = 0;
	sample_end(ctx, state, sizeof(*fields), STACKMAP_WAKEUP_DYNAMIC);
	return PASS_ON;
}

SEC("tracepoint/sched/sched_waking")
int sched_waking(struct trace_event_raw_sched_wakeup_template *ctx)
{
	return wakeup(ctx, STACKMAP_SCHED_WAKING);
}

SEC("tracepoint/sched/sched_wakeup")
int sched_wakeup(struct trace_event_raw_sched_wakeup_template *ctx)
{
	return wakeup(ctx, STACKMAP_SCHED_WAKEUP);
}

SEC("tracepoint/sched/sched_wakeup_new")
int sched_wakeup_new(struct trace_event_raw_sched_wakeup_template *ctx)
{
	return wakeup(ctx, STACKMAP_SCHED_WAKEUP_NEW);
}

/*
 * Begins a record about `task`. It is for the task table alone if the event was not asked for or is
 * filtered; the table needs every task, so there is no filter on that.
 */
static __always_inline struct program_state *task_begin(__u8 kind, struct task_struct *task,
							__u32 old_tid)
{
	struct program_state *state = phase != STACKMAP_NOTHING ? state_of(kind) : NULL;
	struct stackmap_task_fields *fields;

	if (!state || !state_take(state))
		return NULL;
	header_fill(state, kind, bpf_get_current_pid_tgid(), sizeof(*fields));
	fields = fields_of(state, sizeof(*fields));
	fields->tid = task->pid;
	fields->tgid = task->tgid;
	fields->old_tid = old_tid;
	fields->prio = task->prio;
	bpf_probe_read_kernel(fields->comm, sizeof(fields->comm), task->comm);
	return state;
}

static __always_inline void task_finish(void *ctx, struct program_state *state, __u8 kind)
{
	struct stackmap_task_fields *fields = fields_of(state, sizeof(*fields));
	struct stackmap_record_header *header = header_of(state, sizeof(*fields));

	if (phase >= STACKMAP_EVENTS && selected[kind] &&
	    is_wanted(header->tgid, header->tid, fields->tid))
		sample_end_raw(ctx, state, sizeof(*fields));
	else
		task_end(ctx, state, sizeof(*fields));
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	struct program_state *state;

	target_follow(parent->pid, child->pid);
	state = task_begin(STACKMAP_SCHED_PROCESS_FORK, child, parent->tgid);
	if (state)
		task_finish(ctx, state, STACKMAP_SCHED_PROCESS_FORK);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(sched_process_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	struct program_state *state = task_begin(STACKMAP_SCHED_PROCESS_EXEC, task, old_pid);

	if (!state)
		return 0;
	sample_string(state, bprm->filename);
	task_finish(ctx, state, STACKMAP_SCHED_PROCESS_EXEC);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_process_exit, struct task_struct *task)
{
	struct program_state *state = task_begin(STACKMAP_SCHED_PROCESS_EXIT, task, 0);

	if (state)
		task_finish(ctx, state, STACKMAP_SCHED_PROCESS_EXIT);
	return 0;
}

/*
 * Loaded when recording is narrowed. An exiting thread still frees memory and switches away after
 * sched_process_exit, so it stays a target until the kernel lets go of it, and of its number.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(sched_process_free, struct task_struct *task)
{
	target_forget(task->pid);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(task_rename, struct task_struct *task, const char *comm)
{
	struct program_state *state = task_begin(STACKMAP_TASK_RENAME, task, 0);
	struct stackmap_task_fields *fields;

	if (!state)
		return 0;
	fields = fields_of(state, sizeof(*fields));
	/* The tracepoint fires before the name is changed. */
	bpf_probe_read_kernel(fields->comm, sizeof(fields->comm), comm);
	task_end(ctx, state, sizeof(*fields));
	return 0;
}
