/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Sends growth with the stack that caused it to the collector. */
#ifndef MEMSCOPE_SAMPLES_BPF_H
#define MEMSCOPE_SAMPLES_BPF_H

#include "stacks/stacks.bpf.h"

/* The pages for which a sample stands: MS_SAMPLE_BYTES. */
const volatile __u32 sample_pages = 128;

/* Number of samples sent, and the time that the programs took. The time includes searches for a fault address
 * that found none. */
__u64 samples_sent = 0;
__u64 sampling_ns = 0;
/* Rises each time the hooks are attached again after a pause. */
__u32 period = 0;
/* Set while an MS_EVENT_GREW waits for the collector, which is already woken. */
__u32 growth_event_pending = 0;

/* Sends MS_EVENT_GREW once per address space, so that the collector examines the process while it is alive:
 * whether it runs Python, and which files it has mapped at which addresses. */
static __always_inline void report_growth(struct ms_space *space, __u32 pid)
{
	struct ms_header h;

	if (space->grew_sent)
		return;
	identify_space(&h, space, pid, MS_EVENT_GREW, sizeof(h));
	if (bpf_ringbuf_output(&stack_events, &h, sizeof(h),
	                       growth_event_pending ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP))
		count_loss(MS_LOSS_STACKS_FULL); /* tried again at the next sample */
	else
		space->grew_sent = 1;
	growth_event_pending = 1;
}

/* The entry of the address space, NULL if it is not watched. */
static __always_inline struct ms_space *space_of(struct mm_struct *mm, __u32 pid)
{
	struct ms_space *space = bpf_map_lookup_elem(&spaces, &pid);

	if (!space)
		return NULL;
	if (!space->mm) /* the process started before memscope: the collector made the entry */
		space->mm = (__u64)mm;
	return space->mm == (__u64)mm ? space : NULL;
}

static __always_inline void count_time(__u64 began)
{
	__sync_fetch_and_add(&sampling_ns, bpf_ktime_get_ns() - began);
}

/* Sends `pages` at `address` with the current stack. */
static __always_inline void send_sample(void *context, struct ms_space *space, __u32 pid, __u64 address,
                                        __s64 pages, bool bounded)
{
	struct ms_sample sample;

	report_growth(space, pid);
	/* The header gets its time before the stack walk, because the walk takes a while and the collector
	 * compares this time with the times of unmaps. */
	identify_space(&sample.h, space, pid, MS_EVENT_SAMPLE, sizeof(sample));
	sample.address = address;
	sample.pages = pages;
	sample.stack = current_stack(context, space, pid, bounded);
	send_stack_event(&sample, sizeof(sample));
	__sync_fetch_and_add(&samples_sent, 1);
}

#endif
