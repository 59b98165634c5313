// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Follows the anonymous memory of the watched processes and samples its growth by call stack. */
#include "growth/fault_address.bpf.h"
#include "growth/fault_events.bpf.h"
#include "growth/first_touch.bpf.h"
#include "growth/page_count.bpf.h"
#include "growth/task_samples.bpf.h"
#include "processes/membership.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Starts to follow an address space. The pages that it has now do not count as growth. */
static __always_inline void begin_space(struct task_struct *task, struct mm_struct *mm, __s64 pages)
{
	__u32 pid = BPF_CORE_READ(task, tgid);
	struct ms_space space = {.id = bpf_ktime_get_boot_ns(),
	                         .start_ns = BPF_CORE_READ(task, start_boottime),
	                         .mm = (__u64)mm,
	                         .start_pages = pages,
	                         .pages = pages,
	                         .period = period};

	if (bpf_map_update_elem(&spaces, &pid, &space, BPF_ANY))
		count_loss(MS_LOSS_SPACES_FULL);
}

static __always_inline int on_fork(struct task_struct *parent, struct task_struct *child, bool bounded)
{
	struct mm_struct *mm = BPF_CORE_READ(child, mm);

	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid)) /* a thread */
		return 0;
	if (!mm || mm == BPF_CORE_READ(parent, mm)) /* vfork() */
		return 0;
	if (!target_of(follow_descendants ? parent : child) || is_own(child, BPF_CORE_READ(child, tgid)))
		return 0;
	inherit_python(parent, child, bounded);
	begin_space(child, mm, anon_pages_of(mm));
	return 0;
}

/* An exec gives the process a new address space. */
static __always_inline int on_exec(struct task_struct *task)
{
	__u32 pid = BPF_CORE_READ(task, tgid);
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	bpf_map_delete_elem(&interpreters, &pid);
	if (mm && target_of(task) && !is_own(task, pid))
		begin_space(task, mm, anon_pages_of(mm));
	return 0;
}

/* Keeps the entry of a process that has sent samples, because the collector still has to read it. */
static __always_inline int on_exit(struct task_struct *task)
{
	__u32 pid = BPF_CORE_READ(task, tgid);
	struct ms_space *space;

	if (BPF_CORE_READ(task, signal, live.counter) != 0)
		return 0;
	bpf_map_delete_elem(&interpreters, &pid);
	space = bpf_map_lookup_elem(&spaces, &pid);
	if (space && !space->stacks)
		bpf_map_delete_elem(&spaces, &pid);
	return 0;
}

static __always_inline int sample_fault(void *context, __u64 address, __s64 pages, bool bounded)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 pid = BPF_CORE_READ(task, tgid);
	struct ms_space *space = space_of(BPF_CORE_READ(task, mm), pid);
	__u64 began;

	if (!space)
		return 0;
	began = bpf_ktime_get_ns();
	send_sample(context, space, pid, address, pages, bounded);
	count_time(began);
	return 0;
}

/* Sampling by one program, which finds the address of the fault itself. */

/* Not inlined, here and below: a program that calls helpers saves registers at its start, and these programs
 * run at every page fault. */
static __noinline int sample_change(void *ctx, struct mm_struct *mm, __s64 pages, struct countdown *count)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 due = due_pages(mm, pages, count), pid = task->tgid;
	struct ms_space *space;
	struct fault fault;
	__u64 began;

	if (!due)
		return 0;
	count_anew(count);
	space = space_of(mm, pid);
	if (!space)
		return 0;
	began = bpf_ktime_get_ns();
	fault = fault_of(ctx, task, mm);
	/* A page that is swapped in is not new memory: it was sampled before it was swapped out. */
	if (fault.address && !fault.swapped_in)
		send_sample(ctx, space, pid, fault.address, due, false);
	count_time(began);
	return 0;
}

SEC("tp_btf/rss_stat") /* a per-CPU counter from 6.2 on */
int BPF_PROG(growth_sample, struct mm_struct *mm, int member)
{
	struct countdown *count;
	__s64 pages;

	if (member != RSS_ANON)
		return 0;
	pages = mm->rss_stat[RSS_ANON].count;
	count = rare_change(mm, pages, countdown_of(mm));
	return count ? sample_change(ctx, mm, pages, count) : 0;
}

/* Sampling by two programs: one counts pages, the other runs at served page faults. */

static __noinline int choose_change(struct mm_struct *mm, __s64 pages, struct countdown *count, __u32 slot)
{
	__u32 due = due_pages(mm, pages, count);

	if (due)
		choose(bpf_get_current_task_btf(), slot, due);
	return 0;
}

SEC("tp_btf/rss_stat") /* a per-CPU counter from 6.2 on */
int BPF_PROG(growth_count, struct mm_struct *mm, int member)
{
	__u32 slot = countdown_of(mm);
	struct countdown *count;
	__s64 pages;

	if (member == RSS_SWAP)
		return on_swap_change();
	if (member != RSS_ANON)
		return 0;
	pages = mm->rss_stat[RSS_ANON].count;
	count = rare_change(mm, pages, slot);
	return count ? choose_change(mm, pages, count, slot) : 0;
}

static __noinline int on_served_fault(struct fault_event *event, struct chosen_fault *chosen)
{
	__u32 pages = taken_pages(chosen);

	return pages ? sample_fault(event, event->address, pages, false) : 0;
}

SEC("perf_event") int growth_fault(struct fault_event *event)
{
	struct chosen_fault *chosen = chosen_fault();

	return chosen && chosen->task ? on_served_fault(event, chosen) : 0;
}

SEC("tp_btf/rss_stat") /* up to 6.1 the count is an argument */
int BPF_PROG(growth_count_huge, struct mm_struct *mm, int member, long count)
{
	return member == RSS_ANON ? on_shared_count(mm, count) : 0;
}

SEC("perf_event") /* up to 6.1 */
int growth_fault_count(struct fault_event *event)
{
	__u32 pages = counted_pages();

	return pages ? sample_fault(event, event->address, pages, false) : 0;
}

SEC("perf_event") /* without bpf_loop() */
int growth_fault_count_bounded(struct fault_event *event)
{
	__u32 pages = counted_pages();

	return pages ? sample_fault(event, event->address, pages, true) : 0;
}

/* Without events of page faults. */

SEC("tp_btf/rss_stat") /* the shared part of the counter is exact enough */
int BPF_PROG(growth_net, struct mm_struct *mm, int member)
{
	return member == RSS_ANON ? on_net_count(ctx, mm, mm->rss_stat[RSS_ANON].count, false) : 0;
}

SEC("tp_btf/rss_stat") int BPF_PROG(growth_net_count, struct mm_struct *mm, int member, long count)
{
	return member == RSS_ANON ? on_net_count(ctx, mm, count, false) : 0;
}

SEC("tp_btf/rss_stat") /* without bpf_loop() */
int BPF_PROG(growth_net_count_bounded, struct mm_struct *mm, int member, long count)
{
	return member == RSS_ANON ? on_net_count(ctx, mm, count, true) : 0;
}

SEC("tp_btf/sched_process_fork") int BPF_PROG(growth_fork, struct task_struct *parent,
                                              struct task_struct *child)
{
	return on_fork(parent, child, false);
}

SEC("tp_btf/sched_process_fork") /* without bpf_loop() */
int BPF_PROG(growth_fork_bounded, struct task_struct *parent, struct task_struct *child)
{
	return on_fork(parent, child, true);
}

SEC("tp_btf/sched_process_exec") int BPF_PROG(growth_exec, struct task_struct *task)
{
	return on_exec(task);
}

SEC("tp_btf/sched_process_exit") int BPF_PROG(growth_exit, struct task_struct *task)
{
	return on_exit(task);
}
