/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Sums over the threads of one process. */
#ifndef MEMSCOPE_THREADS_BPF_H
#define MEMSCOPE_THREADS_BPF_H

#include "shared/loss.bpf.h"

struct thread_sums {
	__u64 minor_faults;
	__u64 major_faults;
	__s64 cached_rss[4];  /* up to 6.1 a thread collects up to 64 pages before it adds them to the mm */
	struct mm_struct *mm; /* of the first thread that still has one, because the leader may have exited */
};

static __always_inline void add_thread(struct task_struct *thread, struct thread_sums *sums)
{
	sums->minor_faults += BPF_CORE_READ(thread, min_flt);
	sums->major_faults += BPF_CORE_READ(thread, maj_flt);
	if (!sums->mm)
		sums->mm = BPF_CORE_READ(thread, mm);
	if (bpf_core_type_exists(struct task_rss_stat)) {
		struct task_struct___before_6_2 *old = (void *)thread;
		int cached[4] = {}; /* a plain copy, because accesses to a kernel type are relocated even on
		                       the BPF stack */

		bpf_core_read(cached, sizeof(cached), &old->rss_stat.count);
		for (int i = 0; i < 4; i++)
			sums->cached_rss[i] += cached[i];
	}
}

struct thread_walk {
	struct thread_sums sums;
	struct list_head *head;
	struct list_head *node;
};

/* The signal struct has the faults of threads that have exited. A thread that exits between the two reads is
 * missed until the next visit. The collector does not lower its counters because of such a gap. */
static __always_inline void begin_walk(struct thread_walk *walk, struct task_struct *task)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);

	walk->sums.minor_faults = BPF_CORE_READ(signal, min_flt);
	walk->sums.major_faults = BPF_CORE_READ(signal, maj_flt);
	walk->head = &signal->thread_head;
	walk->node = BPF_CORE_READ(signal, thread_head.next);
}

/* False at the end of the list. */
static __always_inline bool step(struct thread_walk *walk)
{
	struct list_head *node = walk->node;

	if (!node || node == walk->head)
		return false;
	add_thread((void *)node - bpf_core_field_offset(struct task_struct, thread_node), &walk->sums);
	walk->node = BPF_CORE_READ(node, next);
	return true;
}

static __always_inline void end_walk(struct thread_walk *walk)
{
	if (walk->node && walk->node != walk->head)
		count_loss(MS_LOSS_THREADS_TRUNCATED);
}

static long visit_thread(__u32 index, struct thread_walk *walk)
{
	return !step(walk);
}

/* From 5.17 on: bpf_loop() costs the verifier nothing, so the limit on threads is high. */
static __always_inline void sum_threads(struct thread_walk *walk, struct task_struct *task)
{
	begin_walk(walk, task);
	bpf_loop(MS_THREADS_SUMMED, visit_thread, walk, 0);
	end_walk(walk);
}

/* Before 5.17: as many threads as the verifier accepts. */
static __always_inline void sum_threads_bounded(struct thread_walk *walk, struct task_struct *task)
{
	begin_walk(walk, task);
	for (int i = 0; i < MS_THREADS_SUMMED_BOUNDED; i++)
		if (!step(walk))
			break;
	end_walk(walk);
}

typedef void (*thread_summer)(struct thread_walk *walk, struct task_struct *task);

static __always_inline __u32 exec_flag(struct task_struct *leader)
{
	return BPF_CORE_READ(leader, flags) & PF_FORKNOEXEC ? MS_TASK_FORKED_WITHOUT_EXEC : 0;
}

#endif
