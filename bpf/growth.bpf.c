// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Attributes growth of anonymous memory to call stacks: the changes of the counter of resident anonymous
 * pages are added up and counted in steps for the current stack. Runs in the page fault, where most faults
 * execute only on_count().
 */
#include "anon_pages.bpf.h"
#include "membership.bpf.h"
#include "stacks.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MS_SITES);
	__type(key, __u64); /* stack id; the map is preallocated, because a page fault must not allocate */
	__type(value, struct ms_site);
} sites SEC(".maps");

const volatile __s64 step_pages = 128;

/* Number of attributed steps, and the time that they took. If the number is unchanged, the maps are
 * unchanged. */
__u64 bookings = 0;
__u64 booking_ns = 0;
/* Rises each time the hook is attached again after a pause. Changes during a pause are attributed to no
 * stack. */
__u32 period = 0;
/* Set while an MS_EVENT_GREW waits for the collector, which is already woken. */
__u32 someone_grew = 0;

/* From 6.2 on a fault rarely changes the shared counter, because each CPU collects a batch of its own. But
 * the tracepoint fires at each fault, so an unchanged count is the common case. */
#define CACHED_COUNTS 4
struct cached_count {
	__u64 mm;
	__s64 pages;
	__s64 booked; /* pages already attributed, when this CPU last read `spaces`. May be stale: another CPU
	                 can have attributed growth since. The worst case is one extra lookup or one late
	                 step, never a page counted twice. */
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

/* Sends MS_EVENT_GREW once per address space, so that the collector examines the process while it is alive:
 * whether it runs Python, and which files it has mapped at which addresses. */
static __always_inline void tell_of_growth(struct ms_space *space, __u32 pid)
{
	struct ms_header h;

	if (space->told)
		return;
	identify_space(&h, space, pid, MS_EVENT_GREW, sizeof(h));
	if (bpf_ringbuf_output(&stack_events, &h, sizeof(h),
	                       someone_grew ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP))
		count_loss(MS_LOSS_STACKS_FULL); /* tried again at the next step */
	else
		space->told = 1;
	someone_grew = 1;
}

static __always_inline bool is_step(__s64 change)
{
	return change >= step_pages || change <= -step_pages;
}

static __always_inline void book_to(struct ms_space *space, __u32 pid, __u64 stack, __s64 pages)
{
	struct ms_site fresh = {.pages = pages, .space = space->id, .pid = pid};
	struct ms_site *site;

	if (stack == MS_STACK_OTHER)
		goto other;
	site = bpf_map_lookup_elem(&sites, &stack);
	if (!site && bpf_map_update_elem(&sites, &stack, &fresh, BPF_NOEXIST) == 0)
		return;
	if (!site)
		site = bpf_map_lookup_elem(&sites, &stack);
	if (!site)
		goto other;
	__sync_fetch_and_add(&site->pages, pages);
	return;
other:
	__sync_fetch_and_add(&space->other, pages);
}

static __always_inline void book_to_current(void *context, struct ms_space *space, __u32 pid, __s64 pages,
                                            bool bounded)
{
	struct stack_scratch *scratch = walk_stack(context, space, pid, bounded);
	struct ms_site *site = scratch ? bpf_map_lookup_elem(&sites, &scratch->stack.id) : NULL;

	if (site) /* the stack has an entry, so it was sent already */
		__sync_fetch_and_add(&site->pages, pages);
	else
		book_to(space, pid, scratch ? tell_stack(scratch, space, pid, bounded) : MS_STACK_OTHER,
		        pages);
}

static __always_inline int on_step(void *context, struct mm_struct *mm, __s64 pages,
                                   struct cached_count *cached, bool bounded)
{
	__u32 pid = BPF_CORE_READ(mm, owner, tgid);
	struct ms_space *space = bpf_map_lookup_elem(&spaces, &pid);
	struct task_struct *current;
	__u64 began;
	__s64 change;

	cached->booked = NOT_WATCHED;
	if (!space)
		return 0;
	if (!space->mm) /* the process started before memscope: the collector made the entry */
		space->mm = (__u64)mm;
	if (space->mm != (__u64)mm)
		return 0;
	if (space->period != period) {
		space->period = period;
		__sync_fetch_and_add(&space->paused, pages - exchange_pages(space, pages));
		return 0;
	}
	cached->booked = space->pages;
	if (!is_step(pages - cached->booked))
		return 0;
	began = bpf_ktime_get_ns();
	cached->booked = pages;
	change = pages - exchange_pages(space, pages);
	if (!change)
		return 0;
	current = (void *)bpf_get_current_task();
	if (BPF_CORE_READ(current, mm) != mm) {
		__sync_fetch_and_add(&space->external, change);
	} else {
		tell_of_growth(space, pid);
		book_to_current(context, space, pid, change, bounded);
	}
	__sync_fetch_and_add(&bookings, 1);
	__sync_fetch_and_add(&booking_ns, bpf_ktime_get_ns() - began);
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

static __always_inline int on_count(void *context, struct mm_struct *mm, __s64 pages, bool bounded)
{
	__u32 slot = ((__u64)mm >> 8 ^ (__u64)mm >> 12) % CACHED_COUNTS;
	struct cached_count *cached = bpf_map_lookup_elem(&cached_counts, &slot);

	if (!cached || (cached->mm == (__u64)mm && cached->pages == pages))
		return 0;
	if (cached->mm != (__u64)mm)
		cached->booked = NOT_WATCHED;
	cached->mm = (__u64)mm;
	cached->pages = pages;
	if (!is_step(pages - cached->booked))
		return 0;
	return bounded ? on_step_bounded(context, mm, pages, cached)
	               : on_step_in_loops(context, mm, pages, cached);
}

/* Starts to follow an address space. The pages that it has now do not count as growth. */
static __always_inline void begin_space(struct task_struct *task, struct mm_struct *mm, __s64 pages)
{
	__u32 pid = BPF_CORE_READ(task, tgid);
	struct ms_space space = {.id = bpf_ktime_get_boot_ns(),
	                         .start_ns = BPF_CORE_READ(task, start_boottime),
	                         .mm = (__u64)mm,
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

/* Keeps the entry of a process that has grown, because the collector still has to read it. Most processes
 * have not grown. */
static __always_inline int on_exit(struct task_struct *task)
{
	__u32 pid = BPF_CORE_READ(task, tgid);
	struct ms_space *space;

	if (BPF_CORE_READ(task, signal, live.counter) != 0)
		return 0;
	bpf_map_delete_elem(&interpreters, &pid);
	space = bpf_map_lookup_elem(&spaces, &pid);
	if (space && !space->external && !space->other && !space->stacks)
		bpf_map_delete_elem(&spaces, &pid);
	return 0;
}

SEC("tp_btf/rss_stat") /* a per-CPU counter from 6.2 on: its shared part is exact enough */
int BPF_PROG(growth_rss, struct mm_struct *mm, int member)
{
	return member == RSS_ANON ? on_count(ctx, mm, mm->rss_stat[RSS_ANON].count, false) : 0;
}

SEC("tp_btf/rss_stat") /* up to 6.1 the count is an argument */
int BPF_PROG(growth_rss_count, struct mm_struct *mm, int member, long count)
{
	return member == RSS_ANON ? on_count(ctx, mm, count, false) : 0;
}

SEC("tp_btf/rss_stat") /* without bpf_loop() */
int BPF_PROG(growth_rss_count_bounded, struct mm_struct *mm, int member, long count)
{
	return member == RSS_ANON ? on_count(ctx, mm, count, true) : 0;
}

SEC("perf_event") /* for kernels without the tracepoint: the counter is read once every few faults */
int growth_fault(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	return mm ? on_count(ctx, mm, anon_pages_of(mm), false) : 0;
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
