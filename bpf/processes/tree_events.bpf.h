/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Sends the rare events of the process tree to the collector. */
#ifndef MEMSCOPE_TREE_EVENTS_BPF_H
#define MEMSCOPE_TREE_EVENTS_BPF_H

#include "shared/loss.bpf.h"

/* These events have their own ring buffer, so that frequent events of other features cannot fill it. 4 MiB
 * hold 13,000 execs. Shared by all objects. */
#define TREE_RING_BYTES (4 << 20)
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, TREE_RING_BYTES);
} tree_events SEC(".maps");

static __always_inline void *begin_event(enum ms_event_kind kind, __u32 size)
{
	struct ms_header *h = bpf_ringbuf_reserve(&tree_events, size, 0);

	if (!h) {
		count_loss(MS_LOSS_RING_FULL);
		return NULL;
	}
	__builtin_memset(h, 0, sizeof(*h));
	h->time_ns = bpf_ktime_get_boot_ns();
	h->kind = kind;
	h->size = size;
	return h;
}

/* A wake-up per event would cost the collector more than the event. It reads at every tick anyway. It is
 * woken early only for urgent events (`now`) and when a quarter of the ring buffer is used. */
static __always_inline void send_event(void *event, bool now)
{
	if (now || bpf_ringbuf_query(&tree_events, BPF_RB_AVAIL_DATA) > TREE_RING_BYTES / 4)
		bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	else
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline void identify(struct ms_header *h, struct task_struct *leader, __u64 target)
{
	h->start_ns = BPF_CORE_READ(leader, start_boottime);
	h->target = target;
	h->pid = BPF_CORE_READ(leader, tgid);
}

#endif
