/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Samples anonymous pages by perf events of page faults, on kernels where the address of a fault cannot be
 * found on the stack. The tracepoint rss_stat fires when the number of anonymous pages changes, but it does
 * not pass the address. The event of a served fault has the address, but it also fires for copies on write
 * and for reads of the zero page, which add no memory. So the program at rss_stat counts pages down to the
 * next sample. When the count has ended, it chooses the current fault, and the program at the event of this
 * fault reads the address.
 */
#ifndef MEMSCOPE_FAULT_EVENTS_BPF_H
#define MEMSCOPE_FAULT_EVENTS_BPF_H

#include "growth/page_count.bpf.h"

/* A page fault that is to be sampled when it has been served. One per CPU. */
struct chosen_fault {
	__u64 task;   /* 0: none */
	__u64 faults; /* number of page faults of the task when the fault was chosen */
	__u32 slot;   /* index of its countdown in `countdowns` */
	__u32 pages;  /* number of pages that the sample represents */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct chosen_fault);
} chosen_faults SEC(".maps");

/* The context of a program at a perf event: the registers, the period and the address. Part of the ABI. */
struct fault_event {
#if defined(__TARGET_ARCH_x86)
	__u64 regs[21];
#else
	__u64 regs[34];
#endif
	__u64 sample_period;
	__u64 address;
};

static __always_inline __u64 faults_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, min_flt) + BPF_CORE_READ(task, maj_flt);
}

/* Starts the next count after the chosen fault was sampled or dropped. */
static __always_inline void count_anew_of(const struct chosen_fault *chosen)
{
	__u32 slot = chosen->slot;
	struct countdown *count = bpf_map_lookup_elem(&countdowns, &slot);

	if (count)
		count_anew(count);
}

static __always_inline struct chosen_fault *chosen_fault(void)
{
	__u32 first = 0;

	return bpf_map_lookup_elem(&chosen_faults, &first);
}

static __always_inline void choose(struct task_struct *task, __u32 slot, __u32 pages)
{
	struct chosen_fault *chosen = chosen_fault();

	if (!chosen)
		return;
	if (chosen->task) /* the chosen fault had no event: the kernel itself faulted the page in, for
	                     instance for mlock() */
		count_anew_of(chosen);
	chosen->task = (__u64)task;
	chosen->faults = faults_of(task);
	chosen->slot = slot;
	chosen->pages = pages;
}

/* Drops the chosen fault if it swaps a page in. The page is not new memory: it was sampled before it was
 * swapped out. */
static __always_inline int on_swap_change(void)
{
	struct chosen_fault *chosen = chosen_fault();

	if (chosen && chosen->task && chosen->task == bpf_get_current_task()) {
		chosen->task = 0;
		count_anew_of(chosen);
	}
	return 0;
}

/* At the event of a served fault. Returns the number of pages that the fault is a sample for, 0 if the fault
 * was not chosen. */
static __always_inline __u32 taken_pages(struct chosen_fault *chosen)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (chosen->task != (__u64)task)
		return 0;
	chosen->task = 0;
	count_anew_of(chosen);
	if (faults_of(task) != chosen->faults + 1) /* this event is of another fault */
		return 0;
	return chosen->pages;
}

#endif
