/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Net changes of the number of anonymous pages, with the stack that made the change. Used only if neither the
 * stack of the kernel nor perf events have the address of a page fault. Without the address, freed memory
 * cannot be matched to the stack that touched it.
 */
#ifndef MEMSCOPE_FIRST_TOUCH_BPF_H
#define MEMSCOPE_FIRST_TOUCH_BPF_H

#include "growth/samples.bpf.h"
#include "memory/anon_pages.bpf.h"

/* The tracepoint fires at each fault. From 6.2 on few faults change the shared counter, because each CPU
 * collects a batch of changes first. So the last count is cached, and an unchanged count returns at once. */
#define CACHED_COUNTS 4
struct cached_count {
	__u64 mm;
	__s64 pages;
	__s64 sent; /* pages at the last step, when this CPU last read `spaces`. May be stale: another CPU can
	               have sent a step since. The worst case is one extra lookup or one late step, never a
	               page counted twice. */
};
/* Differs from any count by more than a step, so that `spaces` is searched at every change: the process may
 * become watched later. */
#define NOT_WATCHED (-(1LL << 60))

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CACHED_COUNTS);
	__type(key, __u32);
	__type(value, struct cached_count);
} cached_counts SEC(".maps");

static __always_inline __s64 exchange_pages(struct ms_space *space, __s64 pages)
{
#ifdef MEMSCOPE_WITHOUT_EXCHANGE
	/* Two threads that run this at the same time can count the same pages twice, one step at most. */
	__s64 before = space->pages;

	space->pages = pages;
	return before;
#else
	return __sync_lock_test_and_set(&space->pages, pages);
#endif
}

static __always_inline bool is_step(__s64 change)
{
	return change >= (__s64)sample_pages || change <= -(__s64)sample_pages;
}

static __always_inline int on_step(void *context, struct mm_struct *mm, __s64 pages,
                                   struct cached_count *cached, bool bounded)
{
	__u32 pid = BPF_CORE_READ(mm, owner, tgid);
	struct ms_space *space = space_of(mm, pid);
	struct task_struct *current = (void *)bpf_get_current_task();
	__s64 change;
	__u64 began;

	cached->sent = NOT_WATCHED;
	if (!space)
		return 0;
	if (space->period != period) { /* growth during a pause is attributed to no stack */
		space->period = period;
		exchange_pages(space, pages);
		return 0;
	}
	cached->sent = space->pages;
	if (!is_step(pages - cached->sent))
		return 0;
	cached->sent = pages;
	change = pages - exchange_pages(space, pages);
	if (!change || BPF_CORE_READ(current, mm) != mm)
		return 0;
	began = bpf_ktime_get_ns();
	send_sample(context, space, pid, 0, change, bounded);
	count_time(began);
	return 0;
}

/* Not inlined, so that the registers and the stack of a step are not set up at every fault. */
static __noinline int on_step_in_loops(void *context, struct mm_struct *mm, __s64 pages,
                                       struct cached_count *cached)
{
	return on_step(context, mm, pages, cached, false);
}

static __noinline int on_step_bounded(void *context, struct mm_struct *mm, __s64 pages,
                                      struct cached_count *cached)
{
	return on_step(context, mm, pages, cached, true);
}

static __always_inline int on_net_count(void *context, struct mm_struct *mm, __s64 pages, bool bounded)
{
	__u32 slot = ((__u64)mm >> 8 ^ (__u64)mm >> 12) % CACHED_COUNTS;
	struct cached_count *cached = bpf_map_lookup_elem(&cached_counts, &slot);

	if (!cached || (cached->mm == (__u64)mm && cached->pages == pages))
		return 0;
	if (cached->mm != (__u64)mm)
		cached->sent = NOT_WATCHED;
	cached->mm = (__u64)mm;
	cached->pages = pages;
	if (!is_step(pages - cached->sent))
		return 0;
	return bounded ? on_step_bounded(context, mm, pages, cached)
	               : on_step_in_loops(context, mm, pages, cached);
}

#endif
