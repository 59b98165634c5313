/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The functions of membership, threads and rss with plain loads. A program that gets its tasks from the
 * kernel's task iterator may dereference their pointers: one instruction each, where BPF_CORE_READ is a call.
 */
#ifndef MEMSCOPE_QUICK_BPF_H
#define MEMSCOPE_QUICK_BPF_H

#include "memory/rss.bpf.h"
#include "processes/membership.bpf.h"

struct bpf_iter_task {
	__u64 opaque[3];
};

/* Weak, so that the object loads on kernels without them if the program that calls them is not loaded. */
extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task,
                             unsigned int flags) __ksym __weak;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym __weak;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym __weak;
extern void bpf_rcu_read_lock(void) __ksym __weak;
extern void bpf_rcu_read_unlock(void) __ksym __weak;
extern void *bpf_rdonly_cast(const void *object, __u32 btf_id) __ksym __weak;

#define EVERY_PROCESS 0 /* BPF_TASK_ITER_ALL_PROCS */

/* Result for the previous process in the list, because neighbours in the list mostly share their cgroup. */
struct membership {
	__u64 css; /* address; not reused while the scan holds the RCU lock */
	__u64 cgroup;
	__u64 target;
};

static __always_inline struct cgroup_subsys_state *quick_css(struct task_struct *task)
{
	struct css_set *set = task->cgroups;
	unsigned long index;

	if (!memory_on_v1)
		return &set->dfl_cgrp->self;
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return NULL;
	index = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	return *(struct cgroup_subsys_state **)((void *)set + bpf_core_field_offset(struct css_set, subsys) +
	                                        index * sizeof(void *));
}

/* Not inlined, here and below: the verifier drops the state of a function when it returns, so it has fewer
 * states to follow afterwards. */
static __noinline __u64 ask_target(struct task_struct *task)
{
	return target_of(task);
}

static __always_inline void find_membership(struct membership *known, struct task_struct *task)
{
	struct cgroup_subsys_state *css = quick_css(task);

	if (!css) {
		__builtin_memset(known, 0, sizeof(*known));
	} else if (known->css != (__u64)css) {
		known->css = (__u64)css;
		known->cgroup = css->cgroup->kn->id;
		known->target = follow_descendants ? 0 : ask_target(task);
	}
	if (follow_descendants)
		known->target = member_target(task->tgid);
}

struct quick_walk {
	__u64 minor_faults;
	__u64 major_faults;
	struct list_head *head;
	struct list_head *node;
};

static long quick_visit(__u32 index, struct quick_walk *walk)
{
	struct list_head *node = walk->node;
	struct task_struct *thread;

	if (!node || node == walk->head)
		return 1;
	thread = bpf_rdonly_cast((void *)node - bpf_core_field_offset(struct task_struct, thread_node),
	                         bpf_core_type_id_kernel(struct task_struct));
	walk->minor_faults += thread->min_flt;
	walk->major_faults += thread->maj_flt;
	walk->node = thread->thread_node.next;
	return 0;
}

static __noinline void add_faults_of_threads(struct ms_task *row, struct signal_struct *signal)
{
	struct quick_walk walk = {};

	walk.head = (void *)signal + bpf_core_field_offset(struct signal_struct, thread_head);
	walk.node = signal->thread_head.next;
	bpf_loop(MS_THREADS_SUMMED, quick_visit, &walk, 0);
	row->minor_faults += walk.minor_faults;
	row->major_faults += walk.major_faults;
	if (walk.node && walk.node != walk.head)
		count_loss(MS_LOSS_THREADS_TRUNCATED);
}

static __always_inline bool quick_owns_memory(struct mm_struct *mm, __u32 pid)
{
	struct task_struct *owner;

	if (!bpf_core_field_exists(mm->owner))
		return true;
	owner = mm->owner;
	return !owner || owner->tgid == pid;
}

/* Reads the four counters of one CPU by two loads. They have no kernel type of their own, so they are read as
 * a struct of two 64-bit words. */
static long quick_cpu_part(__u32 cpu, struct percpu_sum *sum)
{
	__u32 key = cpu;
	__u64 *offset = bpf_map_lookup_elem(&cpu_offsets, &key);
	struct timespec64 *words;
	__u64 first, second;

	if (!offset)
		return 1;
	words = bpf_rdonly_cast((void *)sum->parts[0] + *offset, bpf_core_type_id_kernel(struct timespec64));
	first = words->tv_sec;
	second = words->tv_nsec;
	sum->pages[0] += (__s32)first;
	sum->pages[1] += (__s32)(first >> 32);
	sum->pages[2] += (__s32)second;
	sum->pages[3] += (__s32)(second >> 32);
	return 0;
}

/* Without a loop, because CO-RE relocations need a constant array index. */
static __always_inline void quick_sum_percpu(struct mm_struct *mm, __s64 pages[4])
{
	struct percpu_sum sum = {};

	sum.pages[0] = mm->rss_stat[0].count;
	sum.pages[1] = mm->rss_stat[1].count;
	sum.pages[2] = mm->rss_stat[2].count;
	sum.pages[3] = mm->rss_stat[3].count;
	sum.parts[0] = mm->rss_stat[0].counters;
	sum.parts[1] = mm->rss_stat[1].counters;
	sum.parts[2] = mm->rss_stat[2].counters;
	sum.parts[3] = mm->rss_stat[3].counters;
	sum.adjacent = parts_are_adjacent(&sum);
	if (sum.adjacent)
		bpf_loop(cpu_count, quick_cpu_part, &sum, 0);
	else
		bpf_loop(cpu_count, add_cpu_part, &sum, 0);
	put_sums(&sum, pages);
}

#endif
