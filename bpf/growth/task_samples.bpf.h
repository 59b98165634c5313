/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Samples anonymous pages on kernels before 6.2. There each thread keeps its own count of added pages and
 * adds it to the address space after some 64 faults, so the tracepoint fires too rarely to be counted. But
 * the program at the event of a served page fault can compare the thread's count with its previous value.
 */
#ifndef MEMSCOPE_TASK_SAMPLES_BPF_H
#define MEMSCOPE_TASK_SAMPLES_BPF_H

#include "growth/fault_events.bpf.h"

struct last_fault {
	__u64 task;
	__s32 pages; /* that the thread had added, but not yet passed on to the address space */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct last_fault);
} last_faults SEC(".maps");

/* The count of a thread returns to 0 when the kernel adds it to the address space. So the fault has added a
 * page if the count is above 0 and has changed since the last fault on this CPU, or if that fault was of
 * another thread. */
static __always_inline bool added_a_page(struct last_fault *last, struct task_struct *task)
{
	struct task_struct___before_6_2 *old = (void *)task;
	__s32 pages = BPF_CORE_READ(old, rss_stat.count[RSS_ANON]);
	bool same = last->task == (__u64)task;
	__s32 before = last->pages;

	last->task = (__u64)task;
	last->pages = pages;
	return pages > 0 && (!same || pages != before);
}

/* A huge page is added to the address space at once. */
static __always_inline int on_shared_count(struct mm_struct *mm, __s64 pages)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 slot = countdown_of(mm);
	struct countdown *count = bpf_map_lookup_elem(&countdowns, &slot);
	__s64 jump;

	if (!count)
		return 0;
	jump = jump_of(mm, pages, count);
	if (jump >= HUGE_JUMP && BPF_CORE_READ(task, mm) == mm)
		choose(task, slot, HUGE_PAGES);
	return 0;
}

/* The number of pages that the served fault is a sample for, 0 if the fault is no sample. */
static __always_inline __u32 counted_pages(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 first = 0, slot;
	struct last_fault *last = bpf_map_lookup_elem(&last_faults, &first);
	struct chosen_fault *chosen = chosen_fault();
	struct countdown *count;

	if (!last || !chosen)
		return 0;
	if (chosen->task == (__u64)task) {
		chosen->task = 0;
		if (faults_of(task) == chosen->faults + 1)
			return HUGE_PAGES;
	}
	if (!added_a_page(last, task))
		return 0;
	slot = countdown_of(BPF_CORE_READ(task, mm));
	count = bpf_map_lookup_elem(&countdowns, &slot);
	if (!count || --count->left > 0)
		return 0;
	count_anew(count);
	return sample_pages;
}

#endif
